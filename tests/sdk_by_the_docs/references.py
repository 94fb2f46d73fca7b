def subtract(a, b):
    return a - b


def accumulate(x, acc):
    return acc + 2 * x


def append(k_cache, k, v_cache, v):
    return k_cache + k, v_cache - v, (k_cache + k) * (v_cache - v)
