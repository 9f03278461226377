package dev.lite.boot.client.scanned;

import dev.lite.boot.client.ImportLtRpcClients;
import org.springframework.context.annotation.Configuration;

@Configuration(proxyBeanMethods = false)
@ImportLtRpcClients
public class ScanningConfiguration {}
