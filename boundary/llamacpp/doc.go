// Package llamacpp is a client of a llama.cpp server.
//
// [Client] implements [boundary.Backend] and all of its optional abilities. Make one with [New]; it sends nothing until it is asked.
//
//	c, err := llamacpp.New("http://127.0.0.1:8080", nil)
//
// What the server does not tell stays unknown: the settings of its checkpoints and whether it was started with a full cache for sliding windows are
// visible nowhere, so [Options] can give them, and [Options.Probe] lets two requests find the shape of the cache.
//
// Caveats: no call is tried again, but for a chat whose KV shift was refused. Every response is bounded ([Options.MaxBody]). What a server says is not trusted to be well-formed, but it is
// trusted to be the server: use it with servers of your own.
package llamacpp
