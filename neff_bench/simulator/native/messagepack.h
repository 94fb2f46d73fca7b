/* Reading MessagePack: the bytes come from our own encoder and are not checked. */

#ifndef MESSAGEPACK_H
#define MESSAGEPACK_H

#include <stdint.h>

#define NIL 0xc0

/* An integer of n bytes, the highest first. */
static inline uint64_t big_endian(const uint8_t *at, int n)
{
    uint64_t value = 0;

    for (int i = 0; i < n; i++)
        value = value << 8 | at[i];
    return value;
}

/* Reads an integer and moves on. */
static inline int64_t integer(const uint8_t **at)
{
    uint8_t tag = *(*at)++;
    int bytes;
    uint64_t value;

    if (tag < 0x80 || tag >= 0xe0)
        return (int8_t)tag;
    bytes = 1 << (tag & 3);
    value = big_endian(*at, bytes);
    *at += bytes;
    if (tag < 0xd0 || bytes == 8)
        return (int64_t)value;
    return bytes == 4 ? (int32_t)value : bytes == 2 ? (int16_t)value : (int8_t)value;
}

/* Reads the head of an array or a map and moves on; how many elements follow. */
static inline int64_t elements(const uint8_t **at)
{
    uint8_t tag = *(*at)++;
    int bytes = tag & 1 ? 4 : 2;
    uint64_t count;

    if (tag < 0xa0)
        return tag & 0x0f;
    count = big_endian(*at, bytes);
    *at += bytes;
    return (int64_t)count;
}

/* Behind a value that holds no others. */
static inline const uint8_t *behind_scalar(const uint8_t *at)
{
    uint8_t tag = *at;
    int bytes;

    if (tag >= 0xa0 && tag < 0xc0) /* a short string */
        return at + 1 + (tag & 0x1f);
    if (tag < 0xc4) /* nil, false, true */
        return at + 1;
    if (tag >= 0xca && tag <= 0xcb) /* a float or a double */
        return at + (tag == 0xca ? 5 : 9);
    if (tag >= 0xcc && tag <= 0xd3) /* an integer */
        return at + 1 + (1 << (tag & 3));
    bytes = tag >= 0xd9 ? 1 << (tag - 0xd9) : 1 << (tag - 0xc4); /* a string, or bytes */
    return at + 1 + bytes + big_endian(at + 1, bytes);
}

/* Behind `left` values of any type. */
static inline const uint8_t *behind_all(const uint8_t *at, int64_t left)
{
    for (; left; left--) {
        uint8_t tag = *at;
        if (tag < 0x80 || tag >= 0xe0)
            at++; /* a small integer */
        else if (tag < 0x90 || tag >= 0xde)
            left += 2 * elements(&at); /* of a map */
        else if (tag < 0xa0 || tag >= 0xdc)
            left += elements(&at);
        else
            at = behind_scalar(at);
    }
    return at;
}

static inline const uint8_t *behind(const uint8_t *at)
{
    return behind_all(at, 1);
}

#endif
