// Package table is a table of rows that come and go, drawn in a fixed box:
// columns that give way when it is narrow, sorting, a filter, a cursor that
// stays with its row while rows arrive.
//
// It owns the cursor, the scroll position and the order; never the rows. It
// runs no goroutine and publishes no event.
package table
