package nodelogs

import (
	"cmp"
	"compress/gzip"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net/http"
	"os/exec"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/util/validation/field"
)

const (
	// limit is how long a query may take. Upstream: pkg/kubelet/kubelet_server_journal.go, Copy.
	limit = 30 * time.Second
	// maxQueries is how many queries are answered at once: each runs a program.
	maxQueries = 8
	// maxOutput is the length of an answer, in bytes, before compression.
	maxOutput = 256 << 20
)

// Config is what a Handler needs.
type Config struct {
	// Files is the log directory.
	Files http.FileSystem
	// Program is journalctl, or a path to it; "" means journalctl.
	Program string
	// Limit is how long a query may take; 0 means 30 s. MaxOutput is the length of an answer, in bytes; 0 means 256 MiB.
	Limit     time.Duration
	MaxOutput int64
}

// Handler answers queries. It implements http.Handler for requests whose path is relative to the log directory.
type Handler struct {
	cfg   Config
	files http.Handler
	busy  chan struct{} // has an element for each query that is answered
}

// New returns a handler.
func New(c Config) *Handler {
	c.Program, c.Limit, c.MaxOutput = cmp.Or(c.Program, program), cmp.Or(c.Limit, limit), cmp.Or(c.MaxOutput, maxOutput)
	return &Handler{cfg: c, files: http.FileServer(c.Files), busy: make(chan struct{}, maxQueries)}
}

// ServeHTTP answers a query, or serves a file or directory if there is none. A query that is not valid is refused with status 400.
//
// Upstream: pkg/kubelet/kubelet.go, Run.
func (h *Handler) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	q, err := Parse(r.URL.Query())
	switch {
	case err != nil:
		http.Error(w, err.Error(), http.StatusBadRequest)
	case q == nil:
		h.files.ServeHTTP(w, r)
	case r.URL.Path != "/" && r.URL.Path != "":
		http.Error(w, "path not allowed in query mode", http.StatusNotAcceptable)
	case q.File != "":
		h.file(w, r, q.File)
	default:
		h.services(w, r, q)
	}
}

// file answers a query for a file, or a directory.
func (h *Handler) file(w http.ResponseWriter, r *http.Request, name string) {
	f, err := h.cfg.Files.Open("/" + name)
	var info fs.FileInfo
	if err == nil {
		info, err = f.Stat()
		_ = f.Close() // nothing was read
	}
	if err != nil || !info.IsDir() && strings.HasSuffix(name, "/") {
		http.Error(w, field.NotFound(field.NewPath("query"), name).Error(), http.StatusNotFound)
		return
	}
	r = r.Clone(r.Context())
	r.URL.Path, r.URL.RawPath, r.URL.RawQuery = "/"+name, "", ""
	if info.IsDir() && !strings.HasSuffix(name, "/") { // otherwise the file server redirects, relative to the request's path
		r.URL.Path += "/"
	}
	h.files.ServeHTTP(w, r)
}

// services answers a query for services.
func (h *Handler) services(w http.ResponseWriter, r *http.Request, q *Query) {
	select {
	case h.busy <- struct{}{}:
		defer func() { <-h.busy }()
	default:
		http.Error(w, fmt.Sprintf("%d queries for logs are being answered: try again", maxQueries), http.StatusTooManyRequests)
		return
	}
	ctx, cancel := context.WithTimeoutCause(r.Context(), h.cfg.Limit, fmt.Errorf("the query took longer than %s", h.cfg.Limit))
	defer cancel()
	w.Header().Set("Content-Type", "text/plain;charset=UTF-8")
	var out io.Writer = w
	if r.Header.Get("Accept-Encoding") == "gzip" {
		w.Header().Set("Content-Encoding", "gzip")
		packed, err := gzip.NewWriterLevel(w, gzip.BestSpeed)
		if err != nil {
			http.Error(w, err.Error(), http.StatusInternalServerError)
			return
		}
		defer packed.Close() //nolint:errcheck // the client is gone
		out = packed
	}
	body := &bounded{w: out, left: h.cfg.MaxOutput}
	err := h.copyServices(ctx, body, q)
	switch {
	case errors.Is(err, errTooLong):
		_ = say(out, "\nthe log is longer than %d bytes: select less of it with sinceTime, untilTime, tailLines or pattern\n", h.cfg.MaxOutput)
	case err != nil && r.Context().Err() == nil:
		_ = say(out, "\nerror: %v\n", err)
	}
}

// copyServices writes the logs of services: those in the journal together, as journalctl merges them, then the files of the others.
func (h *Handler) copyServices(ctx context.Context, w io.Writer, q *Query) error {
	var native, others []string
	known := h.journaled(ctx, q.Services)
	for _, s := range q.Services {
		if known[s] {
			native = append(native, s)
		} else {
			others = append(others, s)
		}
	}
	if len(native) > 0 {
		err := h.run(ctx, q.args(native), func(out io.Reader) error {
			_, err := io.Copy(w, out)
			return err
		})
		switch printed, ok := errors.AsType[*printedError](err); {
		case ok:
			err = say(w, "%s\n", strings.TrimSuffix(printed.text, "\n"))
		case errors.Is(err, exec.ErrNotFound):
			err = say(w, "\nerror: journal output not available\n")
		}
		if err = cmp.Or(context.Cause(ctx), err); err != nil {
			return err
		}
	}
	if len(others) > 0 && q.Options != (Options{}) {
		return say(w, "\noptions present and query resolved to log files for %v\ntry without specifying options\n", others)
	}
	for _, s := range others {
		if err := h.copyFile(ctx, w, s); err != nil {
			return err
		}
	}
	return context.Cause(ctx)
}

var errTooLong = errors.New("the answer is too long")

// bounded writes at most left bytes.
type bounded struct {
	w    io.Writer
	left int64
}

// Write implements io.Writer.
func (b *bounded) Write(p []byte) (int, error) {
	if int64(len(p)) <= b.left {
		n, err := b.w.Write(p)
		b.left -= int64(n)
		return n, err
	}
	n, err := b.w.Write(p[:b.left])
	b.left -= int64(n)
	if err == nil {
		err = errTooLong
	}
	return n, err
}
