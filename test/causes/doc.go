// Package causes brings about, on the simulated runtime and an agent in the same process, what the rules of inspect/cause speak of, and
// sees that the rule speaks of it and of the right pod: its tests write no records by hand, inspect/cause's do.
//
// It holds nothing that the product uses, runs no goroutines of its own and publishes no events.
package causes
