"""Makes a catalogue app out of a folder with `app.yaml` and a compose file. It uses the public API only, through the SDK."""

__version__ = "0.1.0"
