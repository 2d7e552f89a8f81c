package bundle

import (
	"bufio"
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"

	"sigs.k8s.io/yaml"

	"github.com/kubeloupe/kubeloupe/inspect/attach/merge"
	"github.com/kubeloupe/kubeloupe/trace"
	"github.com/kubeloupe/kubeloupe/trace/sorting"
)

const (
	// maxObjects bounds what is read of a file of objects; maxYAML of one of YAML, which is read as a whole.
	maxObjects = 256 << 20
	maxYAML    = 16 << 20
	// maxRecords bounds the records that are made of all objects.
	maxRecords = 1 << 18
)

// isObjects reports whether a file begins as objects do that kubectl writes: in JSON, or in YAML.
func isObjects(head []byte) bool {
	head = bytes.TrimLeft(head[:min(len(head), 4096)], " \t\r\n")
	if bytes.HasPrefix(head, []byte("{")) {
		return bytes.Contains(head, []byte(`"apiVersion"`)) && (bytes.Contains(head, []byte(`"kind"`)) || bytes.Contains(head, []byte(`"items"`)))
	}
	head = bytes.TrimPrefix(head, []byte("---\n"))
	return bytes.HasPrefix(head, []byte("apiVersion: ")) || bytes.HasPrefix(head, []byte("kind: "))
}

// objectRecords are the records that objects were made into.
type objectRecords struct {
	recs []trace.Record
	ids  trace.SpanID
	pods map[trace.Pod]bool
	// specs are for the folds of kubelets' logs, which know more with them.
	specs []podSpecOf
}

type podSpecOf struct {
	pod  trace.Pod
	spec *trace.PodSpec
}

// objects takes in a file of Events and pods.
func (s *Source) objects(f file) error {
	r, err := f.open()
	if err != nil {
		return err
	}
	defer r.Close() //nolint:errcheck // it was only read
	b, err := inflated(r)
	if err != nil {
		return err
	}
	limited := &io.LimitedReader{R: b, N: maxObjects}
	b = bufio.NewReaderSize(limited, 64<<10)
	if head, err := b.Peek(1); err == nil && head[0] != '{' && head[0] != ' ' && head[0] != '\n' {
		err = s.yamls(b)
		return err
	}
	err = s.documents(&rewinder{from: b})
	if limited.N <= 0 {
		err = errors.Join(err, fmt.Errorf("only its first %d MiB are read", maxObjects>>20))
	}
	return err
}

// yamls reads documents of YAML.
func (s *Source) yamls(r io.Reader) error {
	text, err := io.ReadAll(io.LimitReader(r, maxYAML+1))
	if err != nil {
		return err
	}
	if len(text) > maxYAML {
		return fmt.Errorf("it is larger than the %d MiB of YAML that are read", maxYAML>>20)
	}
	var errs []error
	for doc := range bytes.SplitSeq(text, []byte("\n---")) {
		j, err := yaml.YAMLToJSON(doc)
		if err == nil && bytes.HasPrefix(j, []byte("{")) {
			err = s.document(json.NewDecoder(bytes.NewReader(j)))
		}
		errs = append(errs, err)
	}
	return errors.Join(errs...)
}

// documents reads objects of JSON, one after the other; `kubectl cluster-info dump` writes them with logs of containers between.
func (s *Source) documents(r *rewinder) error {
	for {
		first, err := r.peek()
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
		if first == '{' {
			d := json.NewDecoder(r)
			err = s.document(d)
			r.unread(d.Buffered())
			if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
				return errors.New("it ends within an object")
			}
		}
		if first != '{' || err != nil { // no object, as a line of a container's log: what follows on it is passed over
			if err := r.skipLine(); err != nil {
				return nil //nolint:nilerr // it is at its end
			}
		}
	}
}

// document reads an object, or a list of objects one by one.
func (s *Source) document(d *json.Decoder) error {
	if _, err := d.Token(); err != nil {
		return err
	}
	var one object
	for d.More() {
		k, err := d.Token()
		if err != nil {
			return err
		}
		if k == "items" {
			if err := s.items(d); err != nil {
				return err
			}
			continue
		}
		if into := one.field(k); into != nil {
			if err := d.Decode(into); err != nil {
				if _, wrong := errors.AsType[*json.UnmarshalTypeError](err); !wrong {
					return err
				}
			}
			continue
		}
		var skip json.RawMessage
		if err := d.Decode(&skip); err != nil {
			return err
		}
	}
	if _, err := d.Token(); err != nil {
		return err
	}
	s.object(&one)
	return nil
}

func (s *Source) items(d *json.Decoder) error {
	t, err := d.Token()
	if err != nil || t != json.Delim('[') {
		return err
	}
	for d.More() {
		var o object
		if err := d.Decode(&o); err != nil {
			if _, wrong := errors.AsType[*json.UnmarshalTypeError](err); !wrong {
				return err
			}
			continue
		}
		s.object(&o)
	}
	_, err = d.Token()
	return err
}

// object makes records of an Event or a pod.
func (s *Source) object(o *object) {
	if s.made == nil {
		s.made = &objectRecords{pods: map[trace.Pod]bool{}}
	}
	if len(s.made.recs) > maxRecords {
		return
	}
	switch {
	case o.isEvent():
		if s.made.event(o) {
			s.told.Events++
		}
	case o.isPod():
		if s.made.pod(o) {
			s.told.Pods++
		}
	}
}

// given hands out the records of objects as if they were a log.
type given struct {
	recs []trace.Record
	in   *merge.Input
	at   int64
	done bool
}

func (s *Source) givenObjects() *given {
	if s.made == nil || len(s.made.recs) == 0 {
		return nil
	}
	in := s.merge.Input()
	if in == nil {
		return nil
	}
	recs := s.made.recs
	s.made = nil
	sorting.Stable(recs, func(a, b *trace.Record) int { return cmp.Compare(a.Time, b.Time) })
	return &given{recs: recs, in: in}
}

func (g *given) step() error {
	if len(g.recs) == 0 {
		g.in.Close()
		g.done, g.at = true, math.MaxInt64
		return nil
	}
	g.at = g.recs[0].Time
	g.in.Put(g.recs[0])
	g.recs = g.recs[1:]
	return nil
}

func (g *given) position() (int64, bool) { return g.at, g.done }
