package bundle

import (
	"bufio"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"time"

	"github.com/kubeloupe/kubeloupe/inspect/attach/logfile"
	"github.com/kubeloupe/kubeloupe/inspect/attach/merge"
	"github.com/kubeloupe/kubeloupe/trace"
)

// The bounds of what is read.
const (
	MaxFiles = 256     // files that matter
	maxNames = 200_000 // names of a tree or an archive
	maxDepth = 24      // directories in each other
	maxBytes = 4 << 30 // of what is taken out of archives, to a temporary file
	maxEntry = 2 << 30 // of one file in it
	sniffed  = 256 << 10
)

// ErrNothing says that nothing in what was given is of use.
var ErrNothing = errors.New("neither a kubelet's log nor a container runtime's, nor Events or pods as kubectl writes them")

// Options says what the files do not tell themselves.
type Options struct {
	// Zone is the zone of kubelets whose log tells none; nil: found out by what else there is, else this machine's.
	Zone *time.Location
}

// Source is one stream of records. Use [Open] or [OpenReader]; Close it.
type Source struct {
	merge  *merge.Merger
	logs   []*chain
	made   *objectRecords
	given  *given
	told   Told
	kept   *os.File // what archives held; it has no name
	size   int64    // of kept
	like   int64    // bytes that were compared to find copies
	closed bool
	held   *trace.Record // read, with a loss that belongs before it
	lost   uint64
}

// Looks reports whether what begins with head, decompressed or not, is something that this package reads.
func Looks(head []byte) bool {
	return logfile.Sniff(head) || isObjects(plain(head)) || isTar(plain(head))
}

// Open opens files, directories and archives as one stream. When ctx ends, so do opening and reading, with its error. The error is ErrNothing
// where nothing in them is of use.
func Open(ctx context.Context, paths []string, o Options) (*Source, error) {
	s := &Source{merge: merge.New(merge.Options{})}
	files, err := s.find(ctx, paths)
	if err == nil {
		err = s.open(files, o)
	}
	err = cmp.Or(ctx.Err(), err)
	if err != nil {
		return nil, errors.Join(err, s.Close())
	}
	return s, nil
}

// OpenReader is Open of one log that can be read once. A Read of r that blocks is for the caller to end.
func OpenReader(ctx context.Context, r io.Reader, o Options) (*Source, error) {
	s := &Source{merge: merge.New(merge.Options{})}
	b := bufio.NewReaderSize(reading{ctx, r}, sniffed)
	head, err := b.Peek(sniffed)
	if err != nil && !errors.Is(err, io.EOF) {
		return nil, fmt.Errorf("read the log: %w", err)
	}
	if text := plain(head); isTar(text) || isObjects(text) && !logfile.Sniff(head) {
		if err := cmp.Or(ctx.Err(), s.spool(ctx, b, isTar(text), o)); err != nil {
			return nil, errors.Join(err, s.Close())
		}
		return s, nil
	}
	c := newChain(s, []file{{name: "-", open: func() (io.ReadCloser, error) { return io.NopCloser(b), nil }}}, o.Zone)
	if c == nil {
		return nil, errors.New("too many logs")
	}
	s.logs = []*chain{c}
	return s, nil
}

// open sorts the files into logs and objects.
func (s *Source) open(files []file, o Options) error {
	var logs []file
	for _, f := range files {
		switch f.kind {
		case kindLog:
			logs = append(logs, f)
		case kindObjects:
			if err := s.objects(f); err != nil {
				s.told.Notes = append(s.told.Notes, f.name+": "+err.Error())
			}
		case kindOther, kindTar:
		}
	}
	chains := chainsOf(logs)
	zone := o.Zone
	if zone == nil {
		zone = s.zoneOf(chains)
	}
	for _, files := range chains {
		if c := newChain(s, files, zone); c != nil {
			s.logs = append(s.logs, c)
		} else {
			s.told.Notes = append(s.told.Notes, files[0].name+": left out: there are too many logs")
		}
	}
	s.given = s.givenObjects()
	if len(s.logs) == 0 && s.given == nil {
		return ErrNothing
	}
	return nil
}

// Next appends records to buf[:0], up to its capacity, and says how many are known to be missing before them. It returns io.EOF with the last.
func (s *Source) Next(ctx context.Context, buf []trace.Record) (recs []trace.Record, lost uint64, err error) {
	recs = buf[:0]
	if s.held != nil {
		recs, lost, s.held = append(recs, *s.held), s.lost, nil
	}
	for len(recs) < max(cap(buf), 1) {
		if err := ctx.Err(); err != nil {
			return recs, lost, err
		}
		r, missing, ok := s.merge.Next()
		switch {
		case ok && missing > 0 && len(recs) > 0:
			s.held, s.lost = &r, missing
			return recs, lost, nil
		case ok:
			recs, lost = append(recs, r), lost+missing
			continue
		}
		c := s.behind()
		if c == nil {
			return recs, lost + s.merge.Gaps(), io.EOF
		}
		if err := c.step(); err != nil {
			return recs, lost, err
		}
	}
	return recs, lost, nil
}

// part is something that is read piece by piece.
type part interface {
	step() error
	position() (at int64, done bool)
}

// behind is what is furthest behind; nil when all is read.
func (s *Source) behind() part {
	var best part
	least := int64(0)
	for _, c := range s.parts() {
		if at, done := c.position(); !done && (best == nil || at < least) {
			best, least = c, at
		}
	}
	return best
}

func (s *Source) parts() (out []part) {
	for _, c := range s.logs {
		out = append(out, c)
	}
	if s.given != nil {
		out = append(out, s.given)
	}
	return out
}

// Close closes the files; what was taken out of archives is gone with it.
func (s *Source) Close() error {
	if s.closed {
		return nil
	}
	s.closed = true
	var errs []error
	for _, c := range s.logs {
		errs = append(errs, c.close())
	}
	if s.kept != nil {
		errs = append(errs, s.kept.Close())
	}
	return errors.Join(errs...)
}
