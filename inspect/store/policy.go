package store

// Policy says what is kept. What has not ended, milestones and the last status of a run are kept besides First and Newest.
type Policy struct {
	// Runs is how many runs; of more, the oldest that is over goes first. 0: whoever has the store forgets them (Forget).
	Runs int
	// Over is how many of those are over; of more, the oldest goes first. 0: any number.
	Over int
	// First and Newest are how many of a run's first and newest records.
	First, Newest int
	// Earlier is how many records the runs have together that a pod had before; the newest. 0: as many as Runs allows.
	Earlier int
	// Node is how many records of the node that explain pods: the newest, and as many of those that explain what is far from them.
	Node int
	// Recent is how many of the last records of all are kept as they came, with bodies.
	Recent int
	// Open is how much may have begun and not ended.
	Open int
	// Traces is how many traces are known by which spans of the runtime find their runs.
	Traces int
	// Short is how many bytes all records may have had together that came; from then on records are kept with short texts and lists.
	// 0: any number.
	Short int
	// Patches has texts of patches be kept.
	Patches bool
	// Straight has the times of a start, and of an end, continue as if the wall clock had not been set, or the machine not been suspended,
	// and spans of the runtime be of the pod for which they were made.
	Straight bool
}
