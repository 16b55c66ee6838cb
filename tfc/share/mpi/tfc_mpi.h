// Collectives of objects that tfc compiles ahead of time, over MPI. Include it in one source file:
//
//   #include "tfc_mpi.h"   // defines tfc_collective, which objects with collectives call
//   #include "demo.h"      // the class that tfc made
//
//   MPI_Init(&argc, &argv);   // rank r then runs device r of the program
//
// What MPI says is wrong ends the program, as its errors do unless the program says otherwise.
// C99 and C++11.

#ifndef TFC_MPI_H_
#define TFC_MPI_H_

#include <mpi.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum tfc_kind {
  TFC_ALL_REDUCE, TFC_ALL_GATHER, TFC_REDUCE_SCATTER, TFC_ALL_TO_ALL, TFC_PERMUTE, TFC_BROADCAST,
  TFC_REPLICA, TFC_PARTITION
};

// The numbers that describe a collective, as the object has them.
enum tfc_word {
  TFC_KIND, TFC_ELEMENT, TFC_REDUCTION, TFC_COUNT, TFC_BYTES, TFC_RUNS, TFC_RUN, TFC_GROUPS,
  TFC_SIZE, TFC_DEVICES
};

static void tfc_require(int holds, const char* what) {
  if (holds) return;
  fprintf(stderr, "tfc_mpi.h: %s\n", what);
  MPI_Abort(MPI_COMM_WORLD, 1);
}

static void* tfc_memory(size_t bytes) {
  void* made = malloc(bytes ? bytes : 1);
  tfc_require(made != NULL, "no memory is left");
  return made;
}

static MPI_Datatype tfc_type(int64_t element) {
  switch (element) {
    case 1: return MPI_FLOAT;
    case 2: return MPI_DOUBLE;
    case 3: return MPI_INT8_T;
    case 4: return MPI_INT16_T;
    case 5: return MPI_INT32_T;
    case 6: return MPI_INT64_T;
    case 8: return MPI_UINT16_T;
    case 9: return MPI_UINT32_T;
    case 10: return MPI_UINT64_T;
    default: return MPI_UINT8_T;  // u8 and pred
  }
}

static MPI_Op tfc_operation(int64_t reduction, int is_pred) {
  switch (reduction) {
    case 1: return is_pred ? MPI_BOR : MPI_SUM;
    case 2: return is_pred ? MPI_BAND : MPI_PROD;
    case 3: return MPI_MIN;
    case 4: return MPI_MAX;
    case 5: return MPI_BAND;
    case 6: return MPI_BOR;
    default: return MPI_BXOR;
  }
}

// MPI's minimum and maximum of floats depend on where a NaN stands; here a NaN wins, in the order
// of the group, so that all ranks get the same.
static int tfc_is_ordered(const int64_t* d) {
  return d[TFC_ELEMENT] >= 1 && d[TFC_ELEMENT] <= 2 && d[TFC_REDUCTION] >= 3 &&
         d[TFC_REDUCTION] <= 4;
}

#define TFC_FOLD(type)                                                                      \
  for (int64_t i = 0; i < count; ++i) {                                                     \
    type best = ((const type*)given)[i];                                                    \
    for (int64_t k = 1; k < size; ++k) {                                                    \
      const type next = ((const type*)given)[k * count + i];                                \
      if (best == best && (next != next || (is_least ? next < best : next > best))) best = next; \
    }                                                                                       \
    ((type*)out)[i] = best;                                                                 \
  }

static void tfc_fold(const int64_t* d, const void* given, int64_t count, int64_t size, void* out) {
  const int is_least = d[TFC_REDUCTION] == 3;
  if (d[TFC_ELEMENT] == 1) {
    TFC_FOLD(float)
  } else {
    TFC_FOLD(double)
  }
}

// The communicator of the group that a rank is in, made when its members first meet.
struct tfc_group {
  const int64_t* devices;
  int64_t size;
  MPI_Comm communicator;
  struct tfc_group* next;
};

static MPI_Comm tfc_communicator(const int64_t* devices, int64_t size) {
  static struct tfc_group* known = NULL;
  for (struct tfc_group* g = known; g != NULL; g = g->next)
    if (g->size == size && !memcmp(g->devices, devices, (size_t)size * sizeof *devices))
      return g->communicator;
  struct tfc_group* made = (struct tfc_group*)tfc_memory(sizeof *made);
  int* ranks = (int*)tfc_memory((size_t)size * sizeof *ranks);
  int tag = 0;
  for (int64_t i = 0; i < size; ++i) tag = (tag * 31 + (ranks[i] = (int)devices[i])) & 0x7FFF;
  MPI_Group everyone, members;
  MPI_Comm_group(MPI_COMM_WORLD, &everyone);
  MPI_Group_incl(everyone, (int)size, ranks, &members);
  MPI_Comm_create_group(MPI_COMM_WORLD, members, tag, &made->communicator);
  MPI_Group_free(&members);
  MPI_Group_free(&everyone);
  free(ranks);
  made->devices = devices;  // a constant of the object
  made->size = size;
  made->next = known;
  known = made;
  return made->communicator;
}

// One of `parts` parts along a dimension; the next begins where its runs end.
static MPI_Datatype tfc_part(int64_t runs, int64_t run, int64_t parts) {
  MPI_Datatype vector, part;
  MPI_Type_vector((int)runs, (int)run, (int)(run * parts), MPI_BYTE, &vector);
  MPI_Type_create_resized(vector, 0, run, &part);
  MPI_Type_commit(&part);
  MPI_Type_free(&vector);
  return part;
}

static void tfc_all_reduce(const int64_t* d, MPI_Comm c, int64_t size, const void* in, void* out) {
  if (!tfc_is_ordered(d)) {
    MPI_Allreduce(in, out, (int)d[TFC_COUNT], tfc_type(d[TFC_ELEMENT]),
                  tfc_operation(d[TFC_REDUCTION], d[TFC_ELEMENT] == 11), c);
    return;
  }
  void* all = tfc_memory((size_t)(size * d[TFC_BYTES]));
  MPI_Allgather(in, (int)d[TFC_BYTES], MPI_BYTE, all, (int)d[TFC_BYTES], MPI_BYTE, c);
  tfc_fold(d, all, d[TFC_COUNT], size, out);
  free(all);
}

static void tfc_reduce_scatter(const int64_t* d, MPI_Comm c, int64_t size, const void* in,
                               void* out) {
  const int64_t run = d[TFC_RUN], runs = d[TFC_RUNS], count = d[TFC_COUNT] / size;
  char* parts = (char*)tfc_memory((size_t)d[TFC_BYTES]);
  for (int64_t k = 0; k < size; ++k)
    for (int64_t r = 0; r < runs; ++r)
      memcpy(parts + (k * runs + r) * run, (const char*)in + (r * size + k) * run, (size_t)run);
  if (!tfc_is_ordered(d)) {
    MPI_Reduce_scatter_block(parts, out, (int)count, tfc_type(d[TFC_ELEMENT]),
                             tfc_operation(d[TFC_REDUCTION], d[TFC_ELEMENT] == 11), c);
  } else {
    void* mine = tfc_memory((size_t)d[TFC_BYTES]);
    MPI_Alltoall(parts, (int)(run * runs), MPI_BYTE, mine, (int)(run * runs), MPI_BYTE, c);
    tfc_fold(d, mine, count, size, out);
    free(mine);
  }
  free(parts);
}

static void tfc_permute(const int64_t* d, int rank, const void* in, void* out) {
  MPI_Request requests[2];
  int asked = 0, is_given = 0;
  for (int64_t k = 0; k < d[TFC_GROUPS]; ++k)
    if (d[TFC_DEVICES + 2 * k + 1] == rank) {
      is_given = 1;
      MPI_Irecv(out, (int)d[TFC_BYTES], MPI_BYTE, (int)d[TFC_DEVICES + 2 * k], 7, MPI_COMM_WORLD,
                &requests[asked++]);
    }
  for (int64_t k = 0; k < d[TFC_GROUPS]; ++k)
    if (d[TFC_DEVICES + 2 * k] == rank)
      MPI_Isend(in, (int)d[TFC_BYTES], MPI_BYTE, (int)d[TFC_DEVICES + 2 * k + 1], 7,
                MPI_COMM_WORLD, &requests[asked++]);
  if (!is_given) memset(out, 0, (size_t)d[TFC_BYTES]);
  MPI_Waitall(asked, requests, MPI_STATUSES_IGNORE);
}

static void tfc_among(const int64_t* d, const int64_t* devices, int64_t size, int own,
                      const void* in, void* out) {
  MPI_Comm c = tfc_communicator(devices, size);
  const int64_t kind = d[TFC_KIND], bytes = d[TFC_BYTES];
  if (kind == TFC_ALL_REDUCE) {
    tfc_all_reduce(d, c, size, in, out);
  } else if (kind == TFC_REDUCE_SCATTER) {
    tfc_reduce_scatter(d, c, size, in, out);
  } else if (kind == TFC_BROADCAST) {
    if (own == 0) memcpy(out, in, (size_t)bytes);
    MPI_Bcast(out, (int)bytes, MPI_BYTE, 0, c);
  } else {
    MPI_Datatype part = tfc_part(d[TFC_RUNS], d[TFC_RUN], size);
    if (kind == TFC_ALL_GATHER)
      MPI_Allgather(in, (int)bytes, MPI_BYTE, out, 1, part, c);
    else
      MPI_Alltoall(in, 1, part, out, 1, part, c);
    MPI_Type_free(&part);
  }
}

#ifdef __cplusplus
extern "C"
#endif
void tfc_collective(void* out, void** in) {
  const int64_t* d = (const int64_t*)in[0];
  int rank, ranks;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  if (d[TFC_KIND] >= TFC_REPLICA) {
    tfc_require(ranks == d[1] * d[2], "the program needs as many processes as it has devices");
    *(uint32_t*)out = (uint32_t)(d[TFC_KIND] == TFC_REPLICA ? rank / d[2] : rank % d[2]);
    return;
  }
  tfc_require(d[TFC_BYTES] <= INT32_MAX, "an array of a collective has 2 GiB or more");
  if (d[TFC_KIND] == TFC_PERMUTE) {
    tfc_permute(d, rank, in[1], out);
    return;
  }
  for (int64_t g = 0; g < d[TFC_GROUPS]; ++g) {
    const int64_t* devices = d + TFC_DEVICES + g * d[TFC_SIZE];
    int64_t size = d[TFC_SIZE];
    while (size > 0 && devices[size - 1] < 0) --size;
    for (int64_t k = 0; k < size; ++k) {
      tfc_require(devices[k] < ranks, "the program needs as many processes as it has devices");
      if (devices[k] == rank) {
        tfc_among(d, devices, size, (int)k, in[1], out);
        return;
      }
    }
  }
  memset(out, 0, (size_t)d[TFC_BYTES]);  // a broadcast gives zeros to whom it does not name
}

#endif  // TFC_MPI_H_
