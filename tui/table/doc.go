// Package table is a table of changing rows, drawn in a fixed box: columns that are hidden if it is narrow, sorting, a filter, a
// cursor that stays on its row while rows arrive.
//
// It owns the cursor, the scroll position and the order; never the rows. Rows are best addresses: the compiler makes the code of a table
// once for all types of addresses, and once for each type of values. What they point to must stay unchanged until the next SetRows.
// It runs no goroutine and publishes no event.
package table
