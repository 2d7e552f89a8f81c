package server

import (
	"time"

	"golang.org/x/time/rate"

	"github.com/kubeloupe/kubeloupe/agent/conns"
)

// Limits on what callers can make the agent hold.
//
// The request line contains the command of exec, so 10250 accepts headers of 1 MiB, as upstream does. net/http reads
// them before the caller is known. Therefore a connection without an authorized request ("unknown") may send 32 KiB: a
// TLS handshake with a chain of certificates and a large token. Four may send more: 128 KiB, or 1 MiB after a known
// certificate, such as the API server's. Reading needs up to three times the bytes read, and a connection about 100 KiB
// more:
//
//	128 × (3 × 32 KiB + 100 KiB) + 4 × 3 × 128 KiB = 26 MiB
//
// HTTP/2 has many requests on a connection and compresses headers: there a request has up to 16 KiB, and a connection 8
// requests, which a client can keep open by not reading the refusals, until these time out. With its headers decoded
// and joined, and its buffers, one request held up to 128 KiB in tests:
//
//	128 × 8 × 128 KiB = 128 MiB, for 5 s, or longer if the CPU is busy
//
// exec, attach and port-forward do not use HTTP/2, which has no upgrades. A client with more requests opens more
// connections.
//
// The other ports need 64 × (3 × 16 KiB + 50 KiB), 6 MiB each.
const (
	maxHeaderBytes      = 1 << 20
	maxPlainHeaderBytes = 16 << 10
	maxHTTP2HeaderBytes = 16 << 10

	// Requests of unknown connections: the maximum, and the maximum for each source.
	unknownRequests, unknownRequestsEach = 128, 64

	// Authorized requests: the maximum, and the maximum for each user. The API server is one user.
	streams, streamsEach = 512, 480
	answers, answersEach = 96, 64
	// The read-only port does not authenticate, so there a user is a source address.
	openAnswers, openAnswersEach = 16, 8
	// Go records one CPU profile and one trace at a time; other profiles need little memory.
	profiles = 4
)

var (
	secureLimits = conns.Limits{Unknown: 128, Known: 1024, Small: 32 << 10, Large: 4, LargeBytes: 128 << 10, CertifiedBytes: maxHeaderBytes + 128<<10}
	plainLimits  = conns.Limits{Unknown: 64}
)

// Deadlines.
const (
	// readHeaderTimeout is the timeout for the TLS handshake, and for the headers of a request.
	readHeaderTimeout = 10 * time.Second
	idleTimeout       = 90 * time.Second
	shutdownTimeout   = 2 * time.Second
	// bodyTimeout is the timeout for a body that a handler reads. Other bodies are not waited for.
	bodyTimeout = 10 * time.Second
	// A client has writeTimeout to read writeChunk bytes of a response, which is 2 KiB/s.
	writeTimeout = 30 * time.Second
	writeChunk   = 64 << 10
	// refusedTimeout is the time that a client has to read a refusal.
	refusedTimeout = 5 * time.Second
	// plainTimeout is the timeout for a whole response of a port without authentication.
	plainTimeout = time.Minute
	// maxProfile is the maximum duration of a profile.
	maxProfile = 10 * time.Minute
)

// HTTP/2. Go's server runs at most as many handlers of a connection as it has streams, including those of streams that
// the client reset, and closes a connection on which many more are opened.
const (
	maxConcurrentStreams = 8
	maxFrame             = 16 << 10 // a frame's memory is allocated when its length is known
	pingAfter            = 30 * time.Second
	pingTimeout          = 15 * time.Second
)

// Requests of unknown connections are published at this rate. More would evict everything else from the ring.
const (
	unknownPublished = rate.Limit(10)
	unknownBurst     = 100
)

// Texts that a caller chooses are clipped to these lengths when they are published.
const (
	maxMethod = 32
	maxPath   = 512
	maxUser   = 256
	maxReason = 512
	maxStack  = 8 << 10 // of a handler that panicked
)
