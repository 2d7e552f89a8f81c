// Package pair matches begins and ends by their span. It is the only place with the rules for that:
//
//   - A begin without an end is open. For an end without a begin, the end has the time of the begin.
//   - A span has one begin, the first, and one end, the last. Records may arrive twice, for example after a reader attached again.
//   - An end may be lost. Whoever lost records calls Lost: what was open is in doubt from then on, until its end comes or something
//     shows that it is finished. That is the end of what it was part of, or ten minutes without news of it.
//   - When an agent starts, nothing that an earlier agent began is open any more (Clear).
//   - Memory is bounded: where too much is open, the oldest is given up.
//
// It owns the table of what is open, runs no goroutine, reads no clock and publishes nothing.
package pair
