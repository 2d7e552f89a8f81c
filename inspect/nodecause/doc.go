// Package nodecause finds why a node is not Ready, is under pressure, or is slow.
//
// It owns the rules KN01 to KN05, which are about the node itself: the agent's own state, the API server, the lease, certificates and
// the node's conditions. It reads what the model has of the node (inspect/model), adds what inspect/cause finds about the container
// runtime, the network and the syncLoop (KL..), and says which state the node is in. One fact has one cause: a lease that is late
// because the API server does not answer is evidence of that, and no finding of its own.
//
// It reads no clock, runs no goroutine and publishes nothing.
package nodecause
