package dev.lite.bench;

import dev.lite.api.Lite;
import dev.lite.api.RpcCall;
import dev.lite.api.RpcServer;
import dev.lite.cluster.InMemoryDirectory;
