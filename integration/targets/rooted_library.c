// A library with pointers, for root_rules.c to open and to close.

void* slots[64];
