package inotify

import "errors"

// ErrLimit is the error of New or Add if the user has reached the kernel's limit of instances or watches.
var ErrLimit = errors.New("no inotify instance or watch is left: raise fs.inotify.max_user_instances or fs.inotify.max_user_watches")

// Op is a set of events. The values are the kernel's.
type Op uint32

// The events that a watch can request.
const (
	Modify     Op = 0x2   // a file was written
	Attrib     Op = 0x4   // modes, owners, links of a file or of the directory changed
	CloseWrite Op = 0x8   // a writer closed a file
	Open       Op = 0x20  // a file was opened
	MovedFrom  Op = 0x40  // a name was removed by a rename
	MovedTo    Op = 0x80  // a name was added by a rename
	Create     Op = 0x100 // a name was added, other than by a rename
	Delete     Op = 0x200 // a name was removed, other than by a rename
	DeleteSelf Op = 0x400 // the watched directory was deleted
	MoveSelf   Op = 0x800 // the watched directory was renamed

	// Names are all events that change the set of names.
	Names = MovedFrom | MovedTo | Create | Delete
)

// Events that the kernel also sends without a request.
const (
	// Unmount says that the file system was unmounted. The watch is gone.
	Unmount Op = 0x2000
	// Overflow says that events were lost, of any watch.
	Overflow Op = 0x4000
)

// Event is one event.
type Event struct {
	// Watch is what Add returned, -1 for Overflow. Events of a removed watch may still arrive.
	Watch int
	Op    Op
	// Cookie is the same in the two events of a rename, otherwise 0.
	Cookie uint32
	// Name is the name in the directory; "" if the event is about the directory itself.
	Name string
}

// Has reports whether the event is one of ops.
func (e Event) Has(ops Op) bool { return e.Op&ops != 0 }

// Moved reports whether the directory is no longer at its path: deleted, renamed or unmounted.
func (e Event) Moved() bool { return e.Has(DeleteSelf | MoveSelf | Unmount) }
