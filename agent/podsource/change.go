package podsource

import "strings"

// changeKind is what happened to a file.
type changeKind uint8

const (
	// written: its content is complete and may have changed.
	written changeKind = iota
	// created: it exists; if a writer made it, written follows.
	created
	// attributes: it may have become readable.
	attributes
	// gone: removed or renamed away.
	gone
	// backup: renamed to a name that is not read, as editors do before they write it again.
	backup
	// everything: events were lost, or the directory itself changed.
	everything
)

// change is one event.
type change struct {
	kind changeKind
	name string
	// wd is the watch of the event, -1 for any; cookie connects the two events of a rename.
	wd     int
	cookie uint32
}

// hidden reports whether files of that name are not read: those with a leading dot, as upstream, and
// the backups and lock files of editors.
func hidden(name string) bool {
	return strings.HasPrefix(name, ".") || strings.HasSuffix(name, "~") ||
		(strings.HasPrefix(name, "#") && strings.HasSuffix(name, "#"))
}

// markBackups finds files that were renamed to a hidden name.
func markBackups(batch []change) {
	for i := range batch {
		if batch[i].kind != gone || batch[i].cookie == 0 {
			continue
		}
		for _, c := range batch[i+1:] {
			if c.cookie == batch[i].cookie && hidden(c.name) {
				batch[i].kind = backup
			}
		}
	}
}
