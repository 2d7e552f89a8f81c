// Package inotify tells what happens in directories, by the kernel's inotify.
//
// It owns an inotify instance, its watches and the format of its events: what the kernel says when its queue was full (Overflow) or
// a watched directory is not where it was (Event.Moved), and the limits of instances and watches (ErrLimit). It never follows a
// directory that moved and never watches one again: whoever watches knows what for. A caller that gets an error from New or Add polls.
//
// It is not fsnotify for three reasons. A manifest is read when its writer has closed it (IN_CLOSE_WRITE), neither earlier, when half
// of it may be valid, nor later. What others do in directories far above, as /tmp, must not wake this process, so the events of a watch
// are chosen. And the halves of a rename are joined by their cookie.
//
// Names in events are what anybody who can write the directory made of them: up to 255 bytes, in any encoding. The package opens no
// file that is named. It runs no goroutine and publishes nothing; elsewhere than on Linux, New returns errors.ErrUnsupported.
package inotify
