/* The records of a zip archive: their signatures, their lengths, and where their fields stand. All numbers
 * are little-endian. */
#ifndef SACTAG_SCHEMA_ZIP_FORMAT_H
#define SACTAG_SCHEMA_ZIP_FORMAT_H

#include <stdint.h>

#define ZIP_SIG_LOCAL   0x04034b50u
#define ZIP_SIG_CENTRAL 0x02014b50u
#define ZIP_SIG_END     0x06054b50u
#define ZIP_SIG_END64   0x06064b50u
#define ZIP_SIG_LOCATOR 0x07064b50u
#define ZIP_SIG_DESC    0x08074b50u

/* The fixed part of each, before names, extra fields and comments. */
#define ZIP_LOCAL_LEN   30
#define ZIP_CENTRAL_LEN 46
#define ZIP_END_LEN     22
#define ZIP_END64_LEN   56
#define ZIP_LOCATOR_LEN 20
#define ZIP_DESC32_LEN  16
#define ZIP_DESC64_LEN  24

/* A 4-byte field that says that its value stands in a zip64 field. */
#define ZIP_WIDE UINT32_MAX

enum zip_local_field { /* a member's header before its data */
                       ZIP_LOCAL_AT_FLAGS = 6,
                       ZIP_LOCAL_AT_METHOD = 8,
                       ZIP_LOCAL_AT_CRC = 14,
                       ZIP_LOCAL_AT_STORED = 18, /* bytes in the archive */
                       ZIP_LOCAL_AT_SIZE = 22,   /* bytes, unpacked */
                       ZIP_LOCAL_AT_NAME = 26,   /* length of the name, */
                       ZIP_LOCAL_AT_EXTRA = 28   /* of the extra fields */
};

enum zip_central_field { /* a member's header in the directory */
                         ZIP_CENTRAL_AT_FLAGS = 8,
                         ZIP_CENTRAL_AT_METHOD = 10,
                         ZIP_CENTRAL_AT_CRC = 16,
                         ZIP_CENTRAL_AT_STORED = 20,
                         ZIP_CENTRAL_AT_SIZE = 24,
                         ZIP_CENTRAL_AT_NAME = 28,
                         ZIP_CENTRAL_AT_EXTRA = 30,
                         ZIP_CENTRAL_AT_COMMENT = 32,
                         ZIP_CENTRAL_AT_DISK = 34,
                         ZIP_CENTRAL_AT_LOCAL = 42 /* offset of the local header */
};

enum zip_desc_field { ZIP_DESC_AT_CRC = 4, ZIP_DESC_AT_SIZES = 8 }; /* a descriptor behind the data */

enum zip_end_field { /* the end record; of the directory: how many headers, its length, its offset */
                     ZIP_END_AT_DISK = 4,
                     ZIP_END_AT_FIRST_DISK = 6,
                     ZIP_END_AT_HERE = 8,
                     ZIP_END_AT_COUNT = 10,
                     ZIP_END_AT_LENGTH = 12,
                     ZIP_END_AT_OFFSET = 16,
                     ZIP_END_AT_COMMENT = 20
};

enum zip_end64_field {                        /* the zip64 end record */
                       ZIP_END64_AT_REST = 4, /* bytes that follow this field */
                       ZIP_END64_AT_VERSION = 12,
                       ZIP_END64_AT_NEEDED = 14, /* version */
                       ZIP_END64_AT_DISK = 16,
                       ZIP_END64_AT_FIRST_DISK = 20,
                       ZIP_END64_AT_HERE = 24,
                       ZIP_END64_AT_COUNT = 32,
                       ZIP_END64_AT_LENGTH = 40,
                       ZIP_END64_AT_OFFSET = 48
};

enum zip_locator_field { /* between the zip64 end record and the end record */
                         ZIP_LOCATOR_AT_DISK = 4,
                         ZIP_LOCATOR_AT_END64 = 8, /* its offset */
                         ZIP_LOCATOR_AT_DISKS = 16
};

/* Extra fields: an id, the length of the body, the body. */
#define ZIP_EXTRA_ZIP64 0x0001
#define ZIP_EXTRA_ALIGN 0x4246 /* "FB" */
#define ZIP_EXTRA_HEAD  4

static inline uint16_t zip_u16(const uint8_t *p)
{
    return (uint16_t)(p[0] | p[1] << 8);
}

static inline uint32_t zip_u32(const uint8_t *p)
{
    return (uint32_t)zip_u16(p) | (uint32_t)zip_u16(p + 2) << 16;
}

static inline uint64_t zip_u64(const uint8_t *p)
{
    return zip_u32(p) | (uint64_t)zip_u32(p + 4) << 32;
}

static inline void zip_set16(uint8_t *p, uint64_t v)
{
    p[0] = (uint8_t)v;
    p[1] = (uint8_t)(v >> 8);
}

static inline void zip_set32(uint8_t *p, uint64_t v)
{
    zip_set16(p, v);
    zip_set16(p + 2, v >> 16);
}

static inline void zip_set64(uint8_t *p, uint64_t v)
{
    zip_set32(p, v);
    zip_set32(p + 4, v >> 32);
}

#endif
