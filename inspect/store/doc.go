// Package store keeps the records of a stream that explain the runs of its pods, by the rules of inspect/evidence. It
// is the only place that decides which record belongs to which run, and which records are kept:
//
//   - A run begins with the milestone seen, or with the first record of a pod; a static pod keeps its UID over several. What comes after its
//     end stays with it until the next begins. A pod that is seen again while it ends has its next run when it is gone.
//   - What the runtime tells late of its own spans goes to the run that they were made for.
//   - Of a run and of the node the first records and the newest are kept, and of those between what has not ended, milestones and the last
//     status. What a run that is well tells again and again is forgotten.
//   - Begin and end are paired (inspect/pair): who holds one has both.
//
// How much that is, and who gives way, is a Policy. inspect/session explains runs by it, inspect/backlog has it for
// those who attach late, inspect/model for the starts that views show.
//
// Bodies of calls are dropped. It reads no clock, runs no goroutine and publishes nothing. A Store is for one
// goroutine.
package store
