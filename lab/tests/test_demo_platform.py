"""The address of the demo's platform, which `make up` starts."""

from gpuaas_lab.demo.platform import http_bind


def test_the_platform_listens_where_the_setting_says() -> None:
    assert http_bind({"GPUAAS_HTTP_BIND": "127.0.0.1:18999"}) == "127.0.0.1:18999"


def test_without_the_setting_it_takes_a_free_port_of_this_machine() -> None:
    assert http_bind({}).startswith("127.0.0.1:")
