// Package views holds the pages of the terminal UI, one file each. A page is a component: it receives messages, its size and the
// state to show, and draws itself. The drawing depends on nothing else.
//
// A list embeds list, its table comes from newTable, its columns from text, number, duration, clock and similar functions, which
// also define the fields of filters. Its rows are addresses, from held. A new view has one line in tui's shelf.
//
// It owns cursors, filters and drill-ins; the picture of the node is
// inspect/model's. It never reads a clock, a file or the environment, runs no
// goroutine and publishes no event.
package views
