package otlp

import (
	"compress/gzip"
	"context"
	"errors"
	"fmt"
	"io"
	"log"
	"mime"
	"net"
	"net/http"
	"strings"
	"time"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/proto"
)

// The encodings of requests.
const (
	typeProto = "application/x-protobuf"
	typeJSON  = "application/json"
)

func (r *Receiver) serveHTTP(ctx context.Context, l net.Listener) error {
	s := &http.Server{
		Handler: r.handler(), MaxHeaderBytes: 16 << 10, ErrorLog: log.New(io.Discard, "", 0),
		ReadHeaderTimeout: 5 * time.Second, ReadTimeout: 5 * time.Second, WriteTimeout: 15 * time.Second, IdleTimeout: 10 * time.Minute,
	}
	defer context.AfterFunc(ctx, func() { _ = s.Close() })()
	if err := s.Serve(l); err != nil && ctx.Err() == nil && !errors.Is(err, http.ErrServerClosed) {
		return fmt.Errorf("receive spans over HTTP: %w", err)
	}
	return nil
}

func (r *Receiver) handler() http.Handler {
	busy := make(chan struct{}, maxBusy)
	mux := http.NewServeMux()
	mux.HandleFunc("POST /v1/traces", func(w http.ResponseWriter, req *http.Request) {
		kind, _, _ := mime.ParseMediaType(req.Header.Get("Content-Type"))
		if kind != typeProto && kind != typeJSON {
			http.Error(w, "send "+typeProto+" or "+typeJSON, http.StatusUnsupportedMediaType)
			return
		}
		r.post(w, req, kind, busy)
	})
	return mux
}

func (r *Receiver) post(w http.ResponseWriter, req *http.Request, kind string, busy chan struct{}) {
	limit := maxBody
	if kind == typeJSON {
		limit = maxJSON
	}
	body, code, err := readBody(w, req, limit)
	if err != nil {
		r.counts.refused.Add(1)
		reply(w, kind, code, status.New(codes.InvalidArgument, err.Error()).Proto())
		return
	}
	busy <- struct{}{} // only what continues by itself is waited for: a body that does not come keeps nobody else's out
	defer func() { <-busy }()
	take := decode
	if kind == typeJSON {
		take = decodeJSON
	}
	d, err := take(body)
	if err != nil {
		r.counts.refused.Add(1)
		reply(w, kind, http.StatusBadRequest, status.New(codes.InvalidArgument, err.Error()).Proto())
		return
	}
	if err := r.take(d); err != nil {
		w.Header().Set("Retry-After", "1")
		reply(w, kind, http.StatusServiceUnavailable, status.New(codes.Unavailable, err.Error()).Proto())
		return
	}
	reply(w, kind, http.StatusOK, d.response())
}

// readBody reads and decompresses a request's body, up to limit bytes.
func readBody(w http.ResponseWriter, req *http.Request, limit int) (body []byte, code int, err error) {
	var src io.Reader = http.MaxBytesReader(w, req.Body, int64(limit))
	switch enc := strings.ToLower(req.Header.Get("Content-Encoding")); enc {
	case "", "identity":
	case "gzip":
		if src, err = gzip.NewReader(src); err != nil {
			return nil, http.StatusBadRequest, fmt.Errorf("unpack body: %w", err)
		}
	default:
		return nil, http.StatusUnsupportedMediaType, fmt.Errorf("body is packed with %.20q: use gzip or nothing", enc)
	}
	body, err = io.ReadAll(io.LimitReader(src, int64(limit)+1))
	_, tooLarge := errors.AsType[*http.MaxBytesError](err)
	switch {
	case tooLarge, len(body) > limit:
		return nil, http.StatusRequestEntityTooLarge, fmt.Errorf("body is larger than %d bytes: send fewer spans at once", limit)
	case err != nil:
		return nil, http.StatusBadRequest, fmt.Errorf("read body: %w", err)
	}
	return body, http.StatusOK, nil
}

func reply(w http.ResponseWriter, kind string, code int, m proto.Message) {
	encode := proto.Marshal
	if kind == typeJSON {
		encode = protojson.Marshal
	}
	b, err := encode(m)
	if err != nil {
		http.Error(w, err.Error(), http.StatusInternalServerError)
		return
	}
	w.Header().Set("Content-Type", kind)
	w.WriteHeader(code)
	_, _ = w.Write(b)
}
