// Package views holds the pages of the terminal UI, one file each. A page is a
// component: it takes messages, is told its size and what there is to show, and
// draws itself. What it draws depends on nothing else.
//
// It owns cursors, filters and drill-ins; the picture of the node is
// inspect/model's. It never reads a clock, a file or the environment, runs no
// goroutine and publishes no event.
package views
