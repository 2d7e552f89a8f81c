package probe

import (
	"crypto/tls"
	"errors"
	"io"
	"net"
	"net/http"
	"syscall"

	"github.com/kubeloupe/kubeloupe/trace"
)

// answerOf returns what a request or a connection ran into; "" for a timeout, and if that is not known.
func answerOf(err error) trace.ProbeAnswer {
	var dns *net.DNSError
	var record tls.RecordHeaderError
	switch {
	case err == nil:
	case errors.Is(err, syscall.ECONNREFUSED):
		return trace.AnswerRefused
	case errors.Is(err, http.ErrSchemeMismatch), errors.As(err, &record):
		return trace.AnswerProtocol
	case errors.Is(err, syscall.EHOSTUNREACH), errors.Is(err, syscall.ENETUNREACH), errors.As(err, &dns):
		return trace.AnswerUnreachable
	case isTimeout(err):
	case errors.Is(err, io.EOF), errors.Is(err, io.ErrUnexpectedEOF), errors.Is(err, syscall.ECONNRESET), errors.Is(err, syscall.EPIPE):
		return trace.AnswerClosed
	}
	return ""
}
