#include "report/snapshot/model.h"
