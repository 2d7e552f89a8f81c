package trace

// ProbeKind is which of a container's probes it is.
type ProbeKind string

// The probes of a container.
const (
	ProbeStartup   ProbeKind = "startup"   // the container has started
	ProbeReadiness ProbeKind = "readiness" // the container takes traffic
	ProbeLiveness  ProbeKind = "liveness"  // the container need not be restarted
)

// ProbeHow is how a probe asks.
type ProbeHow string

// The ways of a probe.
const (
	ProbeExec ProbeHow = "exec"      // a command in the container
	ProbeHTTP ProbeHow = "httpGet"   // an HTTP request
	ProbeTCP  ProbeHow = "tcpSocket" // a connection
	ProbeGRPC ProbeHow = "grpc"      // the gRPC health service
)

// ProbeResult is how an attempt of a probe went.
type ProbeResult string

// The results of an attempt.
const (
	ProbeSuccess ProbeResult = "success" // the container answered well
	ProbeWarning ProbeResult = "warning" // a success with something to say
	ProbeFailure ProbeResult = "failure" // the container did not answer, or not well
	ProbeError   ProbeResult = "error"   // the attempt could not be made
)

// ProbeState is what a probe says of its container.
type ProbeState string

// What a probe may say.
const (
	ProbeSays    ProbeState = "success" // started, ready or alive
	ProbeDenies  ProbeState = "failure" // not ready, or to be restarted
	ProbeUnknown ProbeState = "unknown" // it does not know yet
)
