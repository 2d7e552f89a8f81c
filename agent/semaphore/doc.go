// Package semaphore limits concurrent work: a number of pieces at a time, the others in turn. It is never a lock.
//
// Why limit: 60 pods at once on 2 CPUs have a median start of 5.0 s if all runtime calls run at once, and of 2.6 s with
// four at a time. Why not lock: a call may hang (a CNI plugin, a runtime handler, a network file system, a registry),
// and everything that waits for it would hang too.
//
// # Overstaying
//
// Acquire returns a slot, and each piece of work in it has a kind ([Place.Begin]). For each kind, the slots keep a
// window of the durations of successful work, so they know how long such work takes on this machine, under its current
// load. While others wait, work that takes clearly longer than its kind usually does (four times the upper quartile,
// see [Pace]) loses its slot: the work continues without one, and the next in turn begins. Until there are enough
// samples, the limit is a few seconds. It has a minimum, so that a burst on a slow machine is still limited, and a
// maximum, so that a hang costs only seconds. If nobody waits, no work loses its slot.
//
// So a hang delays others for at most this time. The work that begins is limited by a rate, never by a number: one for
// each slot in the time of the limit. If everything hangs, work begins at that rate (three slots and ten seconds: 18
// per minute), instead of never. If everything is slow, the limit grows with the samples, up to the maximum.
//
// A slot is also taken away when consecutive pieces of work have used it for longer than the maximum (a pod of two
// hundred containers): then Begin returns false, and the rest of the work queues again.
//
// # Order
//
// Waiting work is in classes, which the caller names. A free slot goes to the class with the fewest slots; among those,
// to the one whose last grant is oldest. So classes have equal shares while all of them have work, and none can starve
// another, however much work it has and however long each piece takes. Within a class, the caller's order number
// decides, then the order of arrival.
//
// One class may be modest ([Config.Modest]): it leaves one slot to the others, so that they need not wait for its work
// to end, and half of the slots while they work.
//
// Another class may be wide ([Config.Wide]), if the number of slots adapts: while it is alone, it begins with the maximum,
// because its work mostly waits. When others come, what it has taken keeps none of them waiting, and it leaves one slot to
// them.
//
// Work that is [Turn.Large] is a separate class with one slot: two pieces of such work at once would use the whole
// machine. It begins when nobody else works, or when others had eight turns meanwhile. Work that arrives later finds
// the other slots free.
//
// Work that is [Turn.Slow] is a separate class: while others wait, it has at most one slot at a time, and one turn in
// nine. Callers set it for work that overstayed before and retries.
//
// # Adapting
//
// The number of slots can adapt ([Config.Adapt]): it is the smallest one with nearly the best throughput, for each class. While
// others wait, the durations of successful work of the same kind tell whether more or fewer at a time are better. Work that hangs
// is no sample, and ends a trial.
//
// The last that wait, a third of the slots at most, begin together with those before them, in slots of their own: alone, they would
// leave a part of the machine idle.
//
// # Events
//
// A caller that waits publishes a wait with the holders of the slots (trace.Wait.Behind), and one that overstays a
// Decision. The package runs no goroutine; a timer runs while somebody waits.
package semaphore
