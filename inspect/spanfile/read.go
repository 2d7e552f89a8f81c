package spanfile

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"

	"github.com/kubeloupe/kubeloupe/trace"
)

const (
	maxValue = 256 << 20    // bytes of one JSON value: a backend's answer is one, a file exporter's line is one
	maxSpans = 20_000       // of the trace
	sniffed  = 4 << 10      // bytes by which a format is known
	maxTime  = 7258118400e9 // the end of the year 2199, in Unix nanoseconds, as for all records
)

var (
	errNoTrace = errors.New("the file has no span of this trace")
	errForeign = errors.New("the trace has no span that kubeloupe made")
	errLarge   = fmt.Errorf("a JSON value of more than %d MiB", maxValue>>20)
)

// Looks reports whether a file that begins like this is in one of the formats.
func Looks(head []byte) bool {
	head = bytes.TrimLeft(head[:min(len(head), sniffed)], " \t\r\n")
	if !bytes.HasPrefix(head, []byte("{")) {
		return false
	}
	for _, name := range []string{`"resourceSpans"`, `"batches"`, `"traceID"`} {
		if bytes.Contains(head, []byte(name)) {
			return true
		}
	}
	return false
}

// value is one JSON value of any of the formats.
type value struct {
	ResourceSpans []resourceSpans `json:"resourceSpans"`
	Batches       []resourceSpans `json:"batches"` // Tempo
	Trace         *struct {       // Tempo, version 2
		ResourceSpans []resourceSpans `json:"resourceSpans"`
	} `json:"trace"`
	Data []jaegerTrace `json:"data"`
	// A trace that was taken out of Jaeger's answer.
	jaegerTrace
}

// Read returns the records of a trace, in order, of each span once, and how many spans of it they lack: those beyond 20,000, and those of a time that no
// record has. The error names what is wrong with the file, or says that the trace is not in it.
func Read(r io.Reader, id trace.TraceID) (recs []trace.Record, lost int, err error) {
	budget := &budget{from: r, left: maxValue}
	d := json.NewDecoder(budget)
	var spans []span
	seen := map[trace.SpanID]bool{} // a sender that gets no answer sends a span again
	for n := 1; ; n++ {
		var v value
		err := d.Decode(&v)
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return nil, 0, fmt.Errorf("JSON value %d: %w", n, err)
		}
		budget.left = maxValue
		for _, s := range v.spans(id) {
			if s.id != 0 && seen[s.id] {
				continue
			}
			if s.start > maxTime || s.end > maxTime || len(spans) == maxSpans {
				lost++
				continue
			}
			seen[s.id] = true
			spans = append(spans, s)
		}
	}
	if len(spans) == 0 {
		return nil, lost, fmt.Errorf("trace %s: %w", id, errNoTrace)
	}
	if recs = records(id, spans); len(recs) == 0 {
		return nil, lost, fmt.Errorf("trace %s: %w", id, errForeign)
	}
	return recs, lost, nil
}

// spans returns those of a trace.
func (v *value) spans(id trace.TraceID) (out []span) {
	all := [][]resourceSpans{v.ResourceSpans, v.Batches}
	if v.Trace != nil {
		all = append(all, v.Trace.ResourceSpans)
	}
	for _, list := range all {
		for i := range list {
			out = append(out, list[i].spans(id)...)
		}
	}
	for i := range v.Data {
		out = append(out, v.Data[i].spans(id)...)
	}
	return append(out, v.jaegerTrace.spans(id)...)
}

// budget reads until as many bytes were read as one value may have.
type budget struct {
	from io.Reader
	left int
}

// Read implements io.Reader.
func (b *budget) Read(p []byte) (int, error) {
	if b.left <= 0 {
		return 0, errLarge
	}
	n, err := b.from.Read(p[:min(len(p), b.left)])
	b.left -= n
	return n, err
}
