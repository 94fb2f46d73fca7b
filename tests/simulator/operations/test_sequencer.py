import numpy as np


def test_a_register_carries_a_value(builder):
    b = builder()
    first, second = b.sbuf((1, 1), "int32"), b.sbuf((1, 1), "int32")
    b.do("register_load", {"dst": first}, {"src": b.input("x", (1, 1), "int32")}, "sync")
    b.do("register_move", {"dst": second}, {"src": first}, "sync")
    b.do("register_store", {"dst": b.output("y", (1, 1), "int32")}, {"src": second}, "sync")
    assert b.run(x=np.array([[-41]], np.int32))["y"][0, 0] == -41


def test_a_register_takes_a_constant(builder):
    b = builder()
    register = b.sbuf((1, 1), "int32")
    b.do("register_move", {"dst": register}, {}, "sync", src=2**31 - 1)
    b.do("register_store", {"dst": b.output("y", (1, 1), "int32")}, {"src": register}, "sync")
    assert b.run()["y"][0, 0] == 2**31 - 1


def test_a_register_addresses_memory(builder, dynamic):
    x = np.arange(32, dtype=np.float32).reshape(8, 4)
    b = builder()
    register = b.sbuf((1, 1), "int32")
    b.do("register_move", {"dst": register}, {}, "sync", src=6)
    rows = dynamic(b.input("x", (8, 4), "float32"), 4, register, pattern=((4, 2), (1, 4)))
    b.copy(b.output("y", (2, 4), "float32"), rows)
    np.testing.assert_array_equal(b.run(x=x)["y"], x[6:8])
