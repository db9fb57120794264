#pragma once

#include <algorithm>
#include <iterator>

namespace heapattach {

// std::partition_point, searched from `guess` outwards in steps that double. For many queries, each
// of which is near the last one: it touches few elements besides those near the guess.
template <class Iterator, class Before>
Iterator partition_point_near(Iterator begin, Iterator end, Iterator guess, const Before& before) {
  using Distance = typename std::iterator_traits<Iterator>::difference_type;
  for (Distance step = 1; guess != end && before(*guess); step *= 2) {
    ++guess;
    if (end - guess < step || !before(guess[step - 1])) {
      return std::partition_point(guess, guess + std::min(step, end - guess), before);
    }
    guess += step - 1;
  }
  for (Distance step = 1;; step *= 2) {
    if (guess - begin < step || before(*(guess - step))) {
      return std::partition_point(guess - std::min(step, guess - begin), guess, before);
    }
    guess -= step;
  }
}

}  // namespace heapattach
