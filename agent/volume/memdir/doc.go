// Package memdir makes and removes directories that are kept in memory: a tmpfs or
// hugetlbfs mounted on them.
//
// It owns how such a mount is made, recognised and undone. It never removes what is
// behind a mount of anybody else, runs no goroutine and publishes no event: it works
// for volume plugins, whose operations are published.
package memdir
