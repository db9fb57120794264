/* Structures with the names that the collector's have in its debug information, and other offsets.
 */
struct hblkhdr {
  void* hb_block;
  struct hblkhdr *hb_next, *hb_prev;
  char spare[5];
  unsigned char hb_obj_kind, hb_flags;
  unsigned long hb_sz, hb_descr;
};
struct bi {
  struct hblkhdr* index[512];
  unsigned long key;
  struct bi *asc_link, *hash_link;
};
struct _GC_arrays {
  void* spare[3];
  struct bi* _all_nils;
  struct bi* _top_index[4096];
} GC_arrays;
