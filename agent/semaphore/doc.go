// Package semaphore paces concurrent work: so much of it at a time, the rest in turn. It is never a lock.
//
// Why pace: 60 pods at once on 2 CPUs reach a median start of 5.0 s when all runtime calls run at once and
// 2.6 s with four at a time. Why not lock: a call may hang (a CNI plugin, a runtime handler, a network file
// system, a registry), and whoever waits behind it would hang with it.
//
// # Overstaying
//
// A place is taken with Acquire and each piece of work in it is named by its kind ([Place.Begin]). From the
// work that went well, a window is kept for each kind: so the slots know how long such work takes here, under
// the load that there is. While others wait, a place whose work takes clearly longer than its kind usually does
// (four times the upper quartile, see [Pace]) is given away: the work continues outside, and the next in turn
// comes in. Until enough is learned the patience is a few seconds; it has a floor, so that a burst on a slow
// machine is still paced, and a ceiling, so that a hang costs seconds whatever was learned. When nobody waits,
// nobody has to leave.
//
// So a hang holds nothing up for longer than the patience. What is let in is bounded by a rate, never by a
// number: one for each place in the time of the patience. When everything hangs, work comes in at that rate
// (three places and ten seconds: 18 a minute) up to what there is, instead of never. When everything is slow,
// the slots learn that, and the patience grows with it up to the ceiling.
//
// A place also ends when it was used for longer than the ceiling for one piece of work after the other
// (a pod of two hundred containers): then Begin says so, and the rest of the work queues again.
//
// # Whose turn it is
//
// Work that waits is in classes, which the caller names. A free place goes to the class that has the fewest
// places, of those to the one that had none for longest. So classes have equal shares while all of them have
// work, and none can starve another, however much it has and however long each piece takes. Within a class
// the order is that of arrival: the caller's order number, and among equal ones who came first.
//
// One class may be modest ([Config.Modest]): it leaves one place to the others, who need not wait for its work to end,
// and half of the places while they work.
//
// What is [Turn.Large] is a class of its own with one place: two pieces of such work at once would take all of the machine. It begins when
// nobody else works, or when others had eight turns meanwhile. Who comes after that finds the other places free.
//
// The class of what is [Turn.Slow] is apart: while others wait it has no more than one place at a time, and
// one turn in nine. The caller says so of who overstayed before and tries again.
//
// # What is told
//
// Who has to wait publishes a wait that names who holds the places (trace.Wait.Behind), and who overstays a
// Decision. The package runs no goroutine; a timer runs while somebody waits.
package semaphore
