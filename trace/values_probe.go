package trace

// ProbeKind is the kind of a probe.
type ProbeKind string

// The probes of a container.
const (
	ProbeStartup   ProbeKind = "startup"   // the container has started
	ProbeReadiness ProbeKind = "readiness" // the container can receive traffic
	ProbeLiveness  ProbeKind = "liveness"  // the container is healthy; it is restarted if not
)

// ProbeHow is the mechanism of a probe.
type ProbeHow string

// The ways of a probe.
const (
	ProbeExec ProbeHow = "exec"      // a command in the container
	ProbeHTTP ProbeHow = "httpGet"   // an HTTP request
	ProbeTCP  ProbeHow = "tcpSocket" // a connection
	ProbeGRPC ProbeHow = "grpc"      // the gRPC health service
)

// ProbeResult is the result of a probe attempt.
type ProbeResult string

// The results of an attempt.
const (
	ProbeSuccess ProbeResult = "success" // the attempt succeeded
	ProbeWarning ProbeResult = "warning" // the attempt succeeded with a warning
	ProbeFailure ProbeResult = "failure" // the attempt failed or timed out
	ProbeError   ProbeResult = "error"   // the attempt could not be made
)

// ProbeAnswer is what a failed attempt of a probe ran into, other than its timeout.
type ProbeAnswer string

// The answers to an attempt that failed.
const (
	AnswerStatus      ProbeAnswer = "status"      // an HTTP response whose status is not a success
	AnswerExit        ProbeAnswer = "exit"        // the command exited with another status than 0
	AnswerNotServing  ProbeAnswer = "not-serving" // the gRPC health service says that it does not serve
	AnswerRPC         ProbeAnswer = "rpc"         // the server has no gRPC health service, or the call failed
	AnswerRefused     ProbeAnswer = "refused"     // nothing accepts connections at the port
	AnswerUnreachable ProbeAnswer = "unreachable" // the address cannot be reached, or its name is unknown
	AnswerClosed      ProbeAnswer = "closed"      // the connection was closed without a response
	AnswerProtocol    ProbeAnswer = "protocol"    // the other side speaks another protocol, such as HTTP instead of HTTPS
)

// ProbeState is the state of a container according to a probe.
type ProbeState string

// What a probe may say.
const (
	ProbeSays    ProbeState = "success" // started, ready or alive
	ProbeDenies  ProbeState = "failure" // not ready, or must be restarted
	ProbeUnknown ProbeState = "unknown" // there is no result yet
)
