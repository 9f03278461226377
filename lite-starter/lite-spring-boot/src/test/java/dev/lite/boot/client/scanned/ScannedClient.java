package dev.lite.boot.client.scanned;

import dev.lite.boot.client.LtRpcClient;

@LtRpcClient(node = "fake-1")
public interface ScannedClient {
    String shout(String text);
}
