package sim

import (
	"context"
	"errors"
	"fmt"
	"time"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
)

// The classes of error for which containerd has specific codes. All others become codes.Unknown.
var (
	errNotFound = errors.New("not found")
	errInvalid  = errors.New("invalid argument")
)

// reservedError says that another sandbox or container has the name.
type reservedError struct{ name, id string }

func (e *reservedError) Error() string {
	return fmt.Sprintf("name %q is reserved for %q", e.name, e.id)
}

// toGRPC returns an error with containerd's code.
func toGRPC(err error) error {
	if err == nil {
		return nil
	}
	code := codes.Unknown
	if st, ok := status.FromError(err); ok {
		code = st.Code()
	}
	_, reserved := errors.AsType[*reservedError](err)
	switch {
	case errors.Is(err, errNotFound):
		code = codes.NotFound
	case errors.Is(err, errInvalid):
		code = codes.InvalidArgument
	case reserved:
		code = codes.FailedPrecondition
	case errors.Is(err, context.Canceled):
		code = codes.Canceled
	case errors.Is(err, context.DeadlineExceeded):
		code = codes.DeadlineExceeded
	}
	if status.Code(err) == code {
		return err
	}
	return status.Error(code, err.Error())
}

// call runs one CRI method with the matching faults.
func call[T any](ctx context.Context, s *Server, method string, about subject, do func() (*T, error)) (*T, error) {
	fault := s.faults.take(method, about)
	if fault != nil && !fault.After {
		if err := fault.apply(ctx); err != nil {
			return nil, toGRPC(err)
		}
	}
	resp, err := do()
	if err == nil && fault != nil && fault.After {
		err = fault.apply(ctx)
	}
	if err != nil {
		return nil, toGRPC(err)
	}
	return resp, nil
}

// quick is call for methods whose latency comes first, and whose work takes no time and runs with mu held.
func quick[T any](ctx context.Context, s *Server, method string, about subject, do func() (*T, error)) (*T, error) {
	return call(ctx, s, method, about, func() (*T, error) {
		if err := s.pause(ctx, method); err != nil {
			return nil, err
		}
		s.mu.Lock()
		defer s.mu.Unlock()
		return do()
	})
}

// pause waits for the method's latency.
func (s *Server) pause(ctx context.Context, method string) error {
	l := s.cfg.Latency[method]
	d := l.Fixed
	if l.Jitter > 0 {
		s.mu.Lock()
		d += time.Duration(s.rand.Int64N(int64(2*l.Jitter))) - l.Jitter
		s.mu.Unlock()
	}
	return sleep(ctx, d)
}

// sleep waits for d or the end of ctx.
func sleep(ctx context.Context, d time.Duration) error {
	if d <= 0 {
		return ctx.Err()
	}
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}
