package probe

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"syscall"
	"testing"

	"github.com/kubeloupe/kubeloupe/trace"
)

func TestAnswerOf(t *testing.T) {
	dial := func(err error) error {
		return &net.OpError{Op: "dial", Net: "tcp", Err: os.NewSyscallError("connect", err)}
	}
	for want, all := range map[trace.ProbeAnswer][]error{
		trace.AnswerRefused:     {dial(syscall.ECONNREFUSED)},
		trace.AnswerUnreachable: {dial(syscall.EHOSTUNREACH), dial(syscall.ENETUNREACH), &net.DNSError{Err: "no such host", Name: "a"}},
		trace.AnswerClosed:      {io.EOF, fmt.Errorf("read: %w", syscall.ECONNRESET)},
		trace.AnswerProtocol:    {fmt.Errorf("get: %w", http.ErrSchemeMismatch)},
		"":                      {nil, context.DeadlineExceeded, errors.New("connection refused")},
	} {
		for _, err := range all {
			if got := answerOf(err); got != want {
				t.Errorf("%v: %q, want %q", err, got, want)
			}
		}
	}
}
