package dev.lite.bench.peers;

import dev.lite.bench.load.Caller;
import dev.lite.bench.load.Contender;
import dev.lite.bench.load.Operation;
import dev.lite.bench.load.Outstanding;
import dev.lite.bench.load.Server;
import dev.lite.bench.load.Workload;
import io.grpc.CallOptions;
import io.grpc.Channel;
import io.grpc.ManagedChannel;
import io.grpc.MethodDescriptor;
import io.grpc.ServerServiceDefinition;
import io.grpc.netty.shaded.io.grpc.netty.NettyChannelBuilder;
import io.grpc.netty.shaded.io.grpc.netty.NettyServerBuilder;
import io.grpc.stub.ClientCalls;
import io.grpc.stub.ServerCalls;
import java.io.ByteArrayInputStream;
import java.io.IOException;
import java.io.InputStream;
import java.io.UncheckedIOException;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.util.List;

/**
 * gRPC over loopback TCP without encryption, with its defaults: one channel for all callers, which make blocking calls, or
 * keep futures outstanding. Messages are byte arrays, so that no serializer counts.
 */
public final class Grpc implements Contender {
    private static final String SERVICE = "bench";
    private static final MethodDescriptor<byte[], byte[]> ECHO = MethodDescriptor.<byte[], byte[]>newBuilder()
            .setType(MethodDescriptor.MethodType.UNARY)
            .setFullMethodName(MethodDescriptor.generateFullMethodName(SERVICE, "echo"))
            .setRequestMarshaller(new Bytes())
            .setResponseMarshaller(new Bytes())
            .build();

    private static final class Bytes implements MethodDescriptor.Marshaller<byte[]> {
        @Override
        public InputStream stream(byte[] value) {
            return new ByteArrayInputStream(value);
        }

        @Override
        public byte[] parse(InputStream stream) {
            try {
                return stream.readAllBytes();
            } catch (IOException e) {
                throw new UncheckedIOException("cannot read a message", e);
            }
        }
    }

    @Override
    public String name() {
        return "gRPC";
    }

    @Override
    public Server openServer(List<String> arguments) {
        ServerServiceDefinition echo = ServerServiceDefinition.builder(SERVICE)
                .addMethod(ECHO, ServerCalls.asyncUnaryCall((request, observer) -> {
                    observer.onNext(request);
                    observer.onCompleted();
                }))
                .build();
        try {
            io.grpc.Server server = NettyServerBuilder.forAddress(
                            new InetSocketAddress(InetAddress.getLoopbackAddress(), 0))
                    .addService(echo)
                    .build()
                    .start();
            return new Server() {
                @Override
                public String address() {
                    return Integer.toString(server.getPort());
                }

                @Override
                public void close() {
                    server.shutdownNow();
                }
            };
        } catch (IOException e) {
            throw new UncheckedIOException("cannot listen", e);
        }
    }

    @Override
    public Caller openCaller(List<String> arguments, String serverAddress) {
        ManagedChannel channel = NettyChannelBuilder.forAddress(
                        new InetSocketAddress(InetAddress.getLoopbackAddress(), Integer.parseInt(serverAddress)))
                .usePlaintext()
                .build();
        return new Caller() {
            @Override
            public Operation operation(Workload workload, int thread) {
                byte[] request = new byte[workload.bytes()];
                return workload.underWay() == 1
                        ? call(channel, request)
                        : new Outstanding(
                                workload.underWay(),
                                slot -> ClientCalls.futureUnaryCall(
                                        channel.newCall(ECHO, CallOptions.DEFAULT), request));
            }

            @Override
            public void close() {
                channel.shutdownNow();
            }
        };
    }

    private static Operation call(Channel channel, byte[] request) {
        return nowNs -> {
            byte[] reply = ClientCalls.blockingUnaryCall(channel, ECHO, CallOptions.DEFAULT, request);
            if (reply.length != request.length) {
                throw new IllegalStateException("the reply has %d bytes".formatted(reply.length));
            }
            return nowNs;
        };
    }
}
