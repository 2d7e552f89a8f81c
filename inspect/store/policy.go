package store

// Policy says what is kept. Begins without ends, milestones and the last status of a run are kept in addition to First
// and Newest.
type Policy struct {
	// Runs is the number of runs; of more, the oldest finished one is removed first. 0: the store's user removes them
	// (Forget).
	Runs int
	// Over is the number of finished runs; of more, the oldest is removed first. 0: no limit.
	Over int
	// First and Newest are the numbers of a run's first and newest records.
	First, Newest int
	// Earlier is the total number of records of a pod's earlier runs; the newest. 0: as Runs allows.
	Earlier int
	// Node is the number of records of the node that explain pods: the newest, and as many of those that explain
	// distant records.
	Node int
	// Recent is the number of the last records that are kept unchanged, with bodies.
	Recent int
	// Open is the maximum number of begins without ends.
	Open int
	// Traces is the number of traces by which spans of the runtime find their runs.
	Traces int
	// Short is the total size in bytes of all records so far from which on records are kept with short texts and lists.
	// 0: no limit.
	Short int
	// Patches keeps texts of patches.
	Patches bool
	// Straight corrects the times of a start, and of a termination, as if the wall clock had not been set, or the
	// machine not been suspended, and assigns spans of the runtime to the pod of their trace.
	Straight bool
}
