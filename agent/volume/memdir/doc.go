// Package memdir creates and removes directories in memory: a tmpfs or hugetlbfs is mounted on them.
//
// It owns how such a mount is created, recognized and unmounted. It never removes data behind another mount, runs no goroutine and
// publishes no event: it works for volume plugins, whose operations are published.
package memdir
