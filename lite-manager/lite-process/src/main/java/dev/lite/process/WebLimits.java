package dev.lite.process;

import org.springframework.boot.tomcat.servlet.TomcatServletWebServerFactory;
import org.springframework.boot.web.server.WebServerFactoryCustomizer;

/** Bounds what one client takes of a web server: its connections, the time for headers, and the threads that read refused bodies. */
public final class WebLimits implements WebServerFactoryCustomizer<TomcatServletWebServerFactory> {
    /** For Spring. */
    public WebLimits() {}

    @Override
    public void customize(TomcatServletWebServerFactory factory) {
        factory.setProtocol(AddressLimitedHttp.class.getName());
        factory.addEngineValves(new UnreadBodies());
    }
}
