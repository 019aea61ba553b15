"""A clustered TCP echo: one hub, any number of relays. It shows what an app team writes, and uses the SDK only."""
