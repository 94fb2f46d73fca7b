/* A hash table with open addressing: at most half of the slots are taken, each with the number of a key plus 1. */

#include "numbers.h"

#include <stdlib.h>
#include <string.h>

#define FIRST_SLOTS 256

struct key {
    const unsigned char *bytes;
    size_t length;
    uint64_t hash;
};

static uint64_t mixed(uint64_t hash, uint64_t word)
{
    hash = (hash ^ word) * UINT64_C(0x9E3779B97F4A7C15);
    return hash ^ (hash >> 29);
}

static uint64_t hash_of(const unsigned char *bytes, size_t length)
{
    uint64_t hash = length, word;

    for (; length >= sizeof word; bytes += sizeof word, length -= sizeof word) {
        memcpy(&word, bytes, sizeof word);
        hash = mixed(hash, word);
    }
    word = 0;
    memcpy(&word, bytes, length);
    return mixed(mixed(hash, word), 0);
}

int numbers_begin(struct numbers *numbers)
{
    numbers->count = 0;
    numbers->slot_count = FIRST_SLOTS;
    numbers->slots = calloc(FIRST_SLOTS, sizeof *numbers->slots);
    numbers->keys = malloc(FIRST_SLOTS / 2 * sizeof *numbers->keys);
    return numbers->slots && numbers->keys ? 0 : -1;
}

void numbers_end(struct numbers *numbers)
{
    free(numbers->slots);
    free(numbers->keys);
}

static void take_slot(struct numbers *numbers, uint64_t hash, int64_t number)
{
    size_t slot = hash & (numbers->slot_count - 1);

    while (numbers->slots[slot])
        slot = (slot + 1) & (numbers->slot_count - 1);
    numbers->slots[slot] = number + 1;
}

/* Twice as many slots. */
static int grow(struct numbers *numbers)
{
    struct key *keys = realloc(numbers->keys, numbers->slot_count * sizeof *keys);
    int64_t *slots;

    if (!keys)
        return -1;
    numbers->keys = keys;
    slots = calloc(2 * numbers->slot_count, sizeof *slots);
    if (!slots)
        return -1;
    free(numbers->slots);
    numbers->slots = slots;
    numbers->slot_count *= 2;
    for (int64_t number = 0; number < numbers->count; number++)
        take_slot(numbers, keys[number].hash, number);
    return 0;
}

static int is_key(const struct key *key, uint64_t hash, const void *bytes, size_t length)
{
    return key->hash == hash && key->length == length && memcmp(key->bytes, bytes, length) == 0;
}

int64_t number_of(struct numbers *numbers, const void *bytes, size_t length)
{
    uint64_t hash = hash_of(bytes, length);
    size_t slot = hash & (numbers->slot_count - 1);
    int64_t taken;

    while ((taken = numbers->slots[slot])) {
        if (is_key(&numbers->keys[taken - 1], hash, bytes, length))
            return taken - 1;
        slot = (slot + 1) & (numbers->slot_count - 1);
    }
    if (2 * (size_t)numbers->count >= numbers->slot_count && grow(numbers) < 0)
        return -1;
    numbers->keys[numbers->count].bytes = bytes;
    numbers->keys[numbers->count].length = length;
    numbers->keys[numbers->count].hash = hash;
    take_slot(numbers, hash, numbers->count);
    return numbers->count++;
}
