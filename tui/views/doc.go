// Package views holds the pages of the terminal UI, one file each. A page is a
// component: it takes messages, is told its size and what there is to show, and
// draws itself. What it draws depends on nothing else.
//
// A list embeds list, its table comes from newTable, its columns from text,
// number, duration, clock and the like, which also tell filters what to compare.
// A new view has one line in tui's shelf.
//
// It owns cursors, filters and drill-ins; the picture of the node is
// inspect/model's. It never reads a clock, a file or the environment, runs no
// goroutine and publishes no event.
package views
