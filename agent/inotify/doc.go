// Package inotify reports changes in directories, with the kernel's inotify.
//
// It owns an inotify instance, its watches and the format of its events: a full queue (Overflow), a moved directory
// (Event.Moved), and the limits of instances and watches (ErrLimit). It never follows a directory that moved and never
// watches one again; the caller does. A caller that gets an error from New or Add must poll.
//
// There are three reasons for not using fsnotify. A manifest is read when its writer has closed it (IN_CLOSE_WRITE),
// not earlier, when half of it may be valid, and not later. Changes in directories above, such as /tmp, must not wake
// this process, so the events of a watch can be selected. And the two events of a rename are joined by their cookie.
//
// Every user who can write to the directory decides the names in events: up to 255 bytes, in any encoding. The package
// opens no file with such a name. It runs no goroutine and publishes nothing; on other systems than Linux, New returns
// errors.ErrUnsupported.
package inotify
