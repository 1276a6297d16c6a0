package subject;

import io.netty.bootstrap.ServerBootstrap;
import io.netty.buffer.ByteBuf;
import io.netty.buffer.Unpooled;
import io.netty.channel.ChannelFutureListener;
import io.netty.channel.ChannelHandler;
import io.netty.channel.ChannelHandlerContext;
import io.netty.channel.ChannelInitializer;
import io.netty.channel.ChannelOption;
import io.netty.channel.EventLoopGroup;
import io.netty.channel.MultiThreadIoEventLoopGroup;
import io.netty.channel.SimpleChannelInboundHandler;
import io.netty.channel.epoll.EpollIoHandler;
import io.netty.channel.epoll.EpollServerSocketChannel;
import io.netty.channel.socket.SocketChannel;
import io.netty.handler.codec.DateFormatter;
import io.netty.handler.codec.http.DefaultFullHttpResponse;
import io.netty.handler.codec.http.DefaultHttpResponse;
import io.netty.handler.codec.http.DefaultLastHttpContent;
import io.netty.handler.codec.http.FullHttpResponse;
import io.netty.handler.codec.http.HttpHeaderNames;
import io.netty.handler.codec.http.HttpHeaderValues;
import io.netty.handler.codec.http.HttpObject;
import io.netty.handler.codec.http.HttpRequest;
import io.netty.handler.codec.http.HttpResponse;
import io.netty.handler.codec.http.HttpResponseStatus;
import io.netty.handler.codec.http.HttpServerCodec;
import io.netty.handler.codec.http.HttpServerKeepAliveHandler;
import io.netty.handler.codec.http.HttpVersion;
import io.netty.handler.codec.http.LastHttpContent;
import io.netty.util.AsciiString;
import io.netty.util.CharsetUtil;
import java.util.ArrayDeque;
import java.util.Date;
import java.util.List;
import java.util.Queue;
import java.util.concurrent.TimeUnit;

/**
 * The subject java-netty: constant answers, and one that waits.
 *
 * <p>Behind the port may stand: {@code workers=N} event loops instead of one, {@code acceptor} for
 * one more that accepts and does nothing else, {@code nagle} for sockets without TCP_NODELAY, and
 * {@code two-writes} for answers that leave so, the head and the body.
 */
public final class Server {
    private static final ByteBuf HELLO = constant("Hello, World!");
    private static final ByteBuf STATUS = constant("{\"status\":\"ok\"}");
    private static final ByteBuf WAITED = constant("waited\n");

    /** Written once a second by one event loop, and read by all. */
    private static volatile CharSequence date = date();

    /** Whether head and body leave in a write of their own each. */
    private static boolean twoWrites = false;

    private Server() {}

    public static void main(String[] arguments) throws InterruptedException {
        int port = Integer.parseInt(arguments[0]);
        int threads = 1;
        boolean acceptor = false;
        boolean nodelay = true;
        for (String word : List.of(arguments).subList(1, arguments.length)) {
            switch (word) {
                case "acceptor" -> acceptor = true;
                case "nagle" -> nodelay = false;
                case "two-writes" -> twoWrites = true;
                default -> threads = workers(word);
            }
        }
        EventLoopGroup workers = group(threads);
        workers.next().scheduleAtFixedRate(() -> date = date(), 1, 1, TimeUnit.SECONDS);
        new ServerBootstrap()
                .group(acceptor ? group(1) : workers, workers)
                .channel(EpollServerSocketChannel.class)
                .option(ChannelOption.SO_BACKLOG, 4096)
                .childOption(ChannelOption.TCP_NODELAY, nodelay)
                .childHandler(new Initializer())
                .bind("127.0.0.1", port)
                .sync()
                .channel()
                .closeFuture()
                .sync();
    }

    private static EventLoopGroup group(int threads) {
        return new MultiThreadIoEventLoopGroup(threads, EpollIoHandler.newFactory());
    }

    private static int workers(String word) {
        if (!word.matches("workers=[1-9][0-9]?")) {
            throw new IllegalArgumentException(
                    word + ": workers=N, acceptor, nagle or two-writes was expected");
        }
        return Integer.parseInt(word.substring("workers=".length()));
    }

    private static ByteBuf constant(String text) {
        ByteBuf buffer = Unpooled.directBuffer().writeBytes(text.getBytes(CharsetUtil.US_ASCII));
        return Unpooled.unreleasableBuffer(buffer.asReadOnly());
    }

    private static CharSequence date() {
        return new AsciiString(DateFormatter.format(new Date()));
    }

    private static final class Initializer extends ChannelInitializer<SocketChannel> {
        @Override
        protected void initChannel(SocketChannel channel) {
            channel.pipeline()
                    .addLast(new HttpServerCodec())
                    .addLast(new HttpServerKeepAliveHandler())
                    .addLast(new Handler());
        }
    }

    /** Answers requests in their order: behind one that waits, those that came later wait too. */
    private static final class Handler extends SimpleChannelInboundHandler<HttpObject> {
        private final Queue<String> later = new ArrayDeque<>();
        private String path;
        private boolean waits;

        @Override
        protected void channelRead0(ChannelHandlerContext context, HttpObject part) {
            if (part instanceof HttpRequest head) {
                path = head.uri();
            }
            if (part instanceof LastHttpContent) {
                if (waits) {
                    later.add(path);
                } else {
                    answer(context, path);
                }
            }
        }

        private void answer(ChannelHandlerContext context, String path) {
            switch (path) {
                case "/" -> write(context, response(HELLO, HttpHeaderValues.TEXT_PLAIN));
                case "/json" -> write(context, response(STATUS, HttpHeaderValues.APPLICATION_JSON));
                case "/wait10" -> {
                    waits = true;
                    context.executor().schedule(() -> waited(context), 10, TimeUnit.MILLISECONDS);
                }
                default -> {
                    FullHttpResponse response =
                            response(Unpooled.EMPTY_BUFFER, HttpHeaderValues.TEXT_PLAIN);
                    response.setStatus(HttpResponseStatus.NOT_FOUND);
                    write(context, response);
                }
            }
        }

        private void waited(ChannelHandlerContext context) {
            write(context, response(WAITED, HttpHeaderValues.TEXT_PLAIN));
            waits = false;
            while (!waits && !later.isEmpty()) {
                answer(context, later.remove());
            }
            context.flush();
        }

        /** Whole, or the head at once and the body behind it. */
        private static void write(ChannelHandlerContext context, FullHttpResponse response) {
            if (!twoWrites) {
                context.write(response);
                return;
            }
            HttpResponse head =
                    new DefaultHttpResponse(
                            response.protocolVersion(), response.status(), response.headers());
            context.writeAndFlush(head);
            context.writeAndFlush(new DefaultLastHttpContent(response.content()));
        }

        private static FullHttpResponse response(ByteBuf body, CharSequence contentType) {
            FullHttpResponse response =
                    new DefaultFullHttpResponse(
                            HttpVersion.HTTP_1_1, HttpResponseStatus.OK, body.duplicate());
            response.headers()
                    .set(HttpHeaderNames.CONTENT_TYPE, contentType)
                    .set(HttpHeaderNames.DATE, date)
                    .setInt(HttpHeaderNames.CONTENT_LENGTH, body.readableBytes());
            return response;
        }

        @Override
        public void channelReadComplete(ChannelHandlerContext context) {
            context.flush();
        }

        @Override
        public void exceptionCaught(ChannelHandlerContext context, Throwable cause) {
            context.close(); // The client has gone, or does not speak HTTP.
        }
    }
}
