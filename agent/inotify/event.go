package inotify

import "errors"

// ErrLimit is why New or Add failed when the user has as many instances or watches as the kernel lets one have.
var ErrLimit = errors.New("no inotify instance or watch is left: raise fs.inotify.max_user_instances or fs.inotify.max_user_watches")

// Op is a set of things that happen. The values are the kernel's.
type Op uint32

// What a watch may ask for.
const (
	Modify     Op = 0x2   // a file was written
	Attrib     Op = 0x4   // modes, owners, links of a file or of the directory changed
	CloseWrite Op = 0x8   // a writer closed a file
	Open       Op = 0x20  // a file was opened
	MovedFrom  Op = 0x40  // a name went away by a rename
	MovedTo    Op = 0x80  // a name came by a rename
	Create     Op = 0x100 // a name came, by anything but a rename
	Delete     Op = 0x200 // a name went away, by anything but a rename
	DeleteSelf Op = 0x400 // the watched directory was deleted
	MoveSelf   Op = 0x800 // the watched directory was renamed

	// Names is all that changes which names there are.
	Names = MovedFrom | MovedTo | Create | Delete
)

// Events that the kernel sends without a request.
const (
	// Unmount says that the file system was unmounted. The watch is gone.
	Unmount Op = 0x2000
	// Overflow says that events were lost, of any watch.
	Overflow Op = 0x4000
)

// Event is one thing that happened.
type Event struct {
	// Watch is what Add returned, -1 for Overflow. An event of a watch that was removed may still come.
	Watch int
	Op    Op
	// Cookie is the same in the two halves of a rename, else 0.
	Cookie uint32
	// Name is the name in the directory; "" when it is about the directory itself.
	Name string
}

// Has reports whether one of some things happened.
func (e Event) Has(ops Op) bool { return e.Op&ops != 0 }

// Moved reports whether the directory is no longer where it was watched: deleted, renamed or unmounted.
func (e Event) Moved() bool { return e.Has(DeleteSelf | MoveSelf | Unmount) }
