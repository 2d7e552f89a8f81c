package server

import (
	"time"

	"golang.org/x/time/rate"

	"github.com/kubeloupe/kubeloupe/agent/conns"
)

// What callers can make the agent hold.
//
// A command of exec comes in the request line, so 10250 takes headers of 1 MiB, as upstream does. net/http reads them before anybody can
// say who asks. Therefore a connection on which nothing was allowed yet ("unknown") may send 32 KiB, which is a TLS handshake
// with a chain of certificates and a large token. Four may send more: 128 KiB, or 1 MiB after a certificate that is known, as the API server shows
// one. Reading takes up to three times what is read, and a connection about 100 KiB besides:
//
//	128 × (3 × 32 KiB + 100 KiB) + 4 × 3 × 128 KiB = 26 MiB
//
// HTTP/2 has many requests on a connection and compresses headers: there a request has up to 16 KiB, and a connection 8, which a client can
// make wait by not reading the refusals, until those are due. With its headers decoded and joined, and its buffers, one was seen to hold up to 128 KiB:
//
//	128 × 8 × 128 KiB = 128 MiB, for 5 s, or for as long as a busy processor takes
//
// exec, attach and port-forward do not come over HTTP/2, which has no upgrades. A client with more requests opens more connections.
//
// The other ports are 64 × (3 × 16 KiB + 50 KiB), 6 MiB each.
const (
	maxHeaderBytes      = 1 << 20
	maxPlainHeaderBytes = 16 << 10
	maxHTTP2HeaderBytes = 16 << 10

	// Requests of unknown connections, and how many of those one source may have.
	unknownRequests, unknownRequestsEach = 128, 64

	// Requests that were let in, and how many of those one user may have. The API server is one user.
	streams, streamsEach = 512, 480
	answers, answersEach = 96, 64
	// The read-only port asks nobody who they are, so there a user is a source.
	openAnswers, openAnswersEach = 16, 8
	// Go takes one CPU profile and one trace at a time; others keep little.
	profiles = 4
)

var (
	secureLimits = conns.Limits{Unknown: 128, Known: 1024, Small: 32 << 10, Large: 4, LargeBytes: 128 << 10, CertifiedBytes: maxHeaderBytes + 128<<10}
	plainLimits  = conns.Limits{Unknown: 64}
)

// Deadlines.
const (
	// readHeaderTimeout is for the TLS handshake, and for the headers of a request, each.
	readHeaderTimeout = 10 * time.Second
	idleTimeout       = 90 * time.Second
	shutdownTimeout   = 2 * time.Second
	// bodyTimeout is for a body that is wanted. Of others nothing is waited for.
	bodyTimeout = 10 * time.Second
	// A client has writeTimeout to read writeChunk bytes of an answer, which is 2 KiB a second.
	writeTimeout = 30 * time.Second
	writeChunk   = 64 << 10
	// refusedTimeout is for a client to read that it was refused.
	refusedTimeout = 5 * time.Second
	// plainTimeout is for a whole answer of a port without authentication.
	plainTimeout = time.Minute
	// maxProfile is how long a profile may be taken.
	maxProfile = 10 * time.Minute
)

// HTTP/2. Go's server runs no more handlers of a connection than it has streams, those of streams that the client reset
// included, and ends a connection on which many more are opened.
const (
	maxConcurrentStreams = 8
	maxFrame             = 16 << 10 // a frame is given its memory when its length is known
	pingAfter            = 30 * time.Second
	pingTimeout          = 15 * time.Second
)

// Requests of unknown connections are published at this rate. More would push all else out of the ring.
const (
	unknownPublished = rate.Limit(10)
	unknownBurst     = 100
)

// What a caller chooses is published up to these lengths.
const (
	maxMethod = 32
	maxPath   = 512
	maxUser   = 256
	maxReason = 512
)
