"""Names that C++ code cannot give to a class or a C function, though they are identifiers.

The preprocessor replaces macros wherever they stand. Names of the C library clash where a program
includes its headers, and a function of such a name takes the place of the library's in every
program that it is linked into. C's are those of ISO C11, the others those of POSIX.1-2008 and some
that most C libraries have beside.
"""

import re

# Of C's headers, and what GNU compilers define beforehand.
_MACRO_FAMILIES = re.compile(
    r"""
    (?:U?CHAR|SCHAR|U?SHRT|U?INT|U?LONG|U?LLONG|U?INT(?:_LEAST|_FAST)?(?:8|16|32|64)
      |U?INT(?:MAX|PTR)|PTRDIFF|S?SIZE|WCHAR|WINT|SIG_ATOMIC|BOOL)_(?:MAX|MIN|WIDTH|C)
    | (?:FLT|L?DBL)_(?:DECIMAL_DIG|DIG|EPSILON|HAS_SUBNORM|MANT_DIG|(?:MAX|MIN)(?:_10)?(?:_EXP)?
      |RADIX|ROUNDS|EVAL_METHOD|TRUE_MIN)
    | FE_(?:ALL_EXCEPT|DFL_ENV|DIVBYZERO|DOWNWARD|INEXACT|INVALID|(?:OVER|UNDER)FLOW|TONEAREST
      |TOWARDZERO|UPWARD)
    | FP_(?:FAST_FMA[FL]?|ILOGB0|ILOGBNAN|INFINITE|NAN|NORMAL|SUBNORMAL|ZERO)
    | LC_(?:ALL|COLLATE|CTYPE|MESSAGES|MONETARY|NUMERIC|TIME)
    | M_(?:E|LOG2E|LOG10E|LN2|LN10|PI|PI_2|PI_4|1_PI|2_PI|2_SQRTPI|SQRT2|SQRT1_2)[fl]?
    | SIG_(?:BLOCK|DFL|ERR|HOLD|IGN|SETMASK|UNBLOCK)
    | ATOMIC_(?:FLAG_INIT|VAR_INIT|[A-Z0-9_]+_LOCK_FREE)
    | PTHREAD_[A-Z0-9_]+ | CLOCK_(?:MONOTONIC|REALTIME)
    | (?:PRI|SCN)[diouxX](?:(?:LEAST|FAST)?(?:8|16|32|64)|MAX|PTR)
    | HUGE_VAL[FL]?
    """,
    re.VERBOSE,
)
_MACROS = """
    BIG_ENDIAN BUFSIZ BYTE_ORDER CHAR_BIT CLOCKS_PER_SEC DECIMAL_DIG E2BIG EACCES EADDRINUSE
    EADDRNOTAVAIL EAFNOSUPPORT EAGAIN EALREADY EBADF EBADMSG EBUSY ECANCELED ECHILD ECONNABORTED
    ECONNREFUSED ECONNRESET EDEADLK EDESTADDRREQ EDOM EDQUOT EEXIST EFAULT EFBIG EHOSTUNREACH
    EIDRM EILSEQ EINPROGRESS EINTR EINVAL EIO EISCONN EISDIR ELOOP EMFILE EMLINK EMSGSIZE
    EMULTIHOP ENAMETOOLONG ENETDOWN ENETRESET ENETUNREACH ENFILE ENOBUFS ENODATA ENODEV ENOENT
    ENOEXEC ENOLCK ENOLINK ENOMEM ENOMSG ENOPROTOOPT ENOSPC ENOSR ENOSTR ENOSYS ENOTBLK ENOTCONN
    ENOTDIR ENOTEMPTY ENOTRECOVERABLE ENOTSOCK ENOTSUP ENOTTY ENXIO EOF EOPNOTSUPP EOVERFLOW
    EOWNERDEAD EPERM EPIPE EPROTO EPROTONOSUPPORT EPROTOTYPE ERANGE EROFS ESPIPE ESRCH ESTALE
    ETIME ETIMEDOUT ETXTBSY EWOULDBLOCK EXDEV EXIT_FAILURE EXIT_SUCCESS FILENAME_MAX FLT_ROUNDS
    FOPEN_MAX F_OK HOST_NAME_MAX INFINITY LITTLE_ENDIAN L_tmpnam MATH_ERREXCEPT MATH_ERRNO
    MAXFLOAT MB_CUR_MAX MB_LEN_MAX NAME_MAX NAN NDEBUG NSIG NULL ONCE_FLAG_INIT PATH_MAX
    PIPE_BUF P_tmpdir RAND_MAX R_OK SEEK_CUR SEEK_END SEEK_SET SIGABRT SIGALRM SIGBUS SIGCHLD
    SIGCLD SIGCONT SIGFPE SIGHUP SIGILL SIGINT SIGIO SIGIOT SIGKILL SIGPIPE SIGPOLL SIGPROF
    SIGPWR SIGQUIT SIGRTMAX SIGRTMIN SIGSEGV SIGSTKFLT SIGSTKSZ SIGSTOP SIGSYS SIGTERM SIGTRAP
    SIGTSTP SIGTTIN SIGTTOU SIGURG SIGUSR1 SIGUSR2 SIGVTALRM SIGWINCH SIGXCPU SIGXFSZ TIME_UTC
    TMP_MAX WEOF W_OK X_OK alloca assert errno i386 kill_dependency linux math_errhandling
    offsetof setjmp stderr stdin stdout unix va_arg va_copy va_end va_start
"""

_C_FAMILIES = re.compile(r"u?int(?:_least|_fast)?(?:8|16|32|64)_t|u?int(?:max|ptr)_t")
_C = """
    DIR FILE abort abs aligned_alloc asctime at_quick_exit atexit atof atoi atol atoll
    atomic_flag_clear atomic_flag_test_and_set bsearch btowc c16rtomb c32rtomb call_once calloc
    char16_t char32_t clearerr clock clock_t cnd_broadcast cnd_destroy cnd_init cnd_signal cnd_t
    cnd_timedwait cnd_wait ctime difftime div div_t double_t exit fclose feclearexcept fegetenv
    fegetexceptflag fegetround feholdexcept fenv_t feof feraiseexcept ferror fesetenv
    fesetexceptflag fesetround fetestexcept feupdateenv fexcept_t fflush fgetc fgetpos fgets
    fgetwc fgetws float_t fopen fpclassify fpos_t fprintf fputc fputs fputwc fputws fread free
    freopen fscanf fseek fsetpos ftell fwide fwprintf fwrite fwscanf getc getchar getenv gets
    getwc getwchar gmtime imaxabs imaxdiv imaxdiv_t isalnum isalpha isblank iscntrl isdigit
    isfinite isgraph isgreater isgreaterequal isinf isless islessequal islessgreater islower
    isnan isnormal isprint ispunct isspace isunordered isupper iswalnum iswalpha iswblank
    iswcntrl iswctype iswdigit iswgraph iswlower iswprint iswpunct iswspace iswupper iswxdigit
    isxdigit jmp_buf labs lconv ldiv ldiv_t llabs lldiv lldiv_t locale_t localeconv localtime
    longjmp malloc max_align_t mblen mbrlen mbrtoc16 mbrtoc32 mbrtowc mbsinit mbsrtowcs
    mbstate_t mbstowcs mbtowc memchr memcmp memcpy memmove memset mktime mtx_destroy mtx_init
    mtx_lock mtx_t mtx_timedlock mtx_trylock mtx_unlock nullptr_t off_t once_flag perror pid_t
    printf ptrdiff_t putc putchar puts putwc putwchar qsort quick_exit raise rand realloc remove
    rename rewind scanf setbuf setjmp setlocale setvbuf sig_atomic_t signal signbit sigset_t
    size_t snprintf sprintf srand sscanf ssize_t strcat strchr strcmp strcoll strcpy strcspn
    strerror strftime strlen strncat strncmp strncpy strpbrk strrchr strspn strstr strtod strtof
    strtoimax strtok strtol strtold strtoll strtoul strtoull strtoumax strxfrm swprintf swscanf
    system thrd_create thrd_current thrd_detach thrd_equal thrd_exit thrd_join thrd_sleep thrd_t
    thrd_yield time time_t timespec timespec_get timeval tm tmpfile tmpnam tolower toupper
    towctrans towlower towupper tss_create tss_delete tss_get tss_set tss_t ungetc ungetwc
    va_list vfprintf vfscanf vfwprintf vfwscanf vprintf vscanf vsnprintf vsprintf vsscanf
    vswprintf vswscanf vwprintf vwscanf wcrtomb wcscat wcschr wcscmp wcscoll wcscpy wcscspn
    wcsftime wcslen wcsncat wcsncmp wcsncpy wcspbrk wcsrchr wcsrtombs wcsspn wcsstr wcstod
    wcstof wcstoimax wcstok wcstol wcstold wcstoll wcstombs wcstoul wcstoull wcstoumax wcsxfrm
    wctob wctomb wctrans wctrans_t wctype wctype_t wint_t wmemchr wmemcmp wmemcpy wmemmove
    wmemset wprintf wscanf
"""
# There are also those with an f or an l at the end, for float and long double.
_C_MATHEMATICS = """
    acos acosh asin asinh atan atan2 atanh cabs cacos cacosh carg casin casinh catan catanh cbrt
    ccos ccosh ceil cexp cimag clog conj copysign cos cosh cpow cproj creal csin csinh csqrt
    ctan ctanh erf erfc exp exp2 expm1 fabs fdim floor fma fmax fmin fmod frexp hypot ilogb
    ldexp lgamma llrint llround log log10 log1p log2 logb lrint lround modf nan nearbyint
    nextafter nexttoward pow remainder remquo rint round scalbln scalbn sin sinh sqrt tan tanh
    tgamma trunc
"""

_POSIX_FAMILIES = re.compile(r"pthread_[a-z0-9_]+|posix_spawn\w*")
_POSIX = """
    _exit _fini _init _start a64l accept access aio_cancel aio_error aio_fsync aio_read
    aio_return aio_suspend aio_write alarm alphasort asctime_r asprintf bcmp bcopy bind brk
    bzero catclose catgets catopen cfgetispeed cfgetospeed cfsetispeed cfsetospeed chdir chmod
    chown clock_getcpuclockid clock_getres clock_gettime clock_nanosleep clock_settime clone
    close closedir closelog confstr connect creat ctermid ctime_r cuserid daemon daylight dirfd
    dirname dlclose dlerror dlopen dlsym dprintf drand48 drem dup dup2 duplocale edata end
    endgrent endhostent endmntent endnetent endprotoent endpwent endservent endutxent environ
    erand48 err error errx etext execl execle execlp execv execve execvp exp10 exp10f exp10l
    explicit_bzero faccessat fchdir fchmod fchmodat fchown fchownat fcntl fdatasync fdopen
    fdopendir fexecve ffs fileno flockfile fmemopen fmtmsg fnmatch fork fpathconf freeaddrinfo
    freelocale fseeko fstat fstatat fstatvfs fsync ftello ftok ftruncate ftrylockfile ftw
    funlockfile futimens gai_strerror gamma getaddrinfo getc_unlocked getchar_unlocked getcwd
    getdate getdelim getegid getentropy geteuid getgid getgrent getgrgid getgrgid_r getgrnam
    getgrnam_r getgroups gethostbyaddr gethostbyname gethostent gethostid gethostname getitimer
    getline getlogin getlogin_r getnameinfo getnetbyaddr getnetbyname getnetent getopt
    getopt_long getpagesize getpass getpeername getpgid getpgrp getpid getppid getpriority
    getprotobyname getprotobynumber getprotoent getpwent getpwnam getpwnam_r getpwuid getpwuid_r
    getrandom getrlimit getrusage getservbyname getservbyport getservent getsid getsockname
    getsockopt getsubopt gettimeofday getuid getutxent getutxid getutxline getw getwd glob
    globfree gmtime_r grantpt hcreate hdestroy hsearch htonl htons iconv iconv_close iconv_open
    if_freenameindex if_indextoname if_nameindex if_nametoindex index inet_addr inet_lnaof
    inet_makeaddr inet_netof inet_network inet_ntoa inet_ntop inet_pton initstate insque ioctl
    isalnum_l isalpha_l isascii isatty isblank_l iscntrl_l isdigit_l isgraph_l isinff islower_l
    isnanf isprint_l ispunct_l isspace_l isupper_l iswalnum_l iswalpha_l iswblank_l iswcntrl_l
    iswctype_l iswdigit_l iswgraph_l iswlower_l iswprint_l iswpunct_l iswspace_l iswupper_l
    iswxdigit_l isxdigit_l j0 j1 jn jrand48 kill killpg l64a lchown lcong48 lfind link linkat
    lio_listio listen localtime_r lockf lrand48 lsearch lseek lstat mbsnrtowcs memalign memccpy
    memmem mempcpy memrchr mkdir mkdirat mkdtemp mkfifo mkfifoat mknod mknodat mkstemp mlock
    mlockall mmap mount mprotect mq_close mq_getattr mq_notify mq_open mq_receive mq_send
    mq_setattr mq_timedreceive mq_timedsend mq_unlink mrand48 msgctl msgget msgrcv msgsnd msync
    munlock munlockall munmap nanosleep newlocale nftw nice nl_langinfo nl_langinfo_l nrand48
    ntohl ntohs open open_memstream open_wmemstream openat opendir openlog optarg opterr optind
    optopt pathconf pause pclose pipe poll popen posix_fadvise posix_fallocate posix_madvise
    posix_memalign posix_openpt pow10 pread program_invocation_name pselect psiginfo psignal
    ptsname putc_unlocked putchar_unlocked putenv pututxline putw pvalloc pwrite qsort_r rand_r
    random rawmemchr read readdir readdir_r readlink readlinkat readv reallocarray realpath
    reboot recv recvfrom recvmsg regcomp regerror regexec regfree remque renameat rewinddir
    rindex rmdir sbrk scandir sched_get_priority_max sched_get_priority_min sched_getparam
    sched_getscheduler sched_rr_get_interval sched_setparam sched_setscheduler sched_yield
    secure_getenv seed48 seekdir select sem_close sem_destroy sem_getvalue sem_init sem_open
    sem_post sem_timedwait sem_trywait sem_unlink sem_wait semctl semget semop send sendmsg
    sendto setegid setenv seteuid setgid setgrent sethostent setitimer setlogmask setnetent
    setpgid setpgrp setpriority setprotoent setpwent setregid setreuid setrlimit setservent
    setsid setsockopt setstate setuid setutxent shm_open shm_unlink shmat shmctl shmdt shmget
    shutdown sigaction sigaddset sigaltstack sigdelset sigemptyset sigfillset sighold sigignore
    siginterrupt sigismember siglongjmp signgam significand sigpause sigpending sigprocmask
    sigqueue sigrelse sigset sigsuspend sigtimedwait sigwait sigwaitinfo sincos sincosf sincosl
    sleep sockatmark socket socketpair srand48 srandom stat statvfs stime stpcpy stpncpy
    strcasecmp strcasecmp_l strchrnul strcoll_l strdup strerror_l strerror_r strfmon strfmon_l
    strftime_l strlcat strlcpy strncasecmp strncasecmp_l strndup strnlen strptime strsep
    strsignal strtok_r strxfrm_l swab symlink symlinkat sync syscall sysconf sysinfo syslog
    tcdrain tcflow tcflush tcgetattr tcgetpgrp tcgetsid tcsendbreak tcsetattr tcsetpgrp tdelete
    telldir tempnam tfind tgkill timer_create timer_delete timer_getoverrun timer_gettime
    timer_settime times timezone toascii tolower_l toupper_l towctrans_l towlower_l towupper_l
    truncate tsearch ttyname ttyname_r twalk tzname tzset ualarm ulimit umask uname unlink
    unlinkat unlockpt unsetenv uselocale usleep utime utimensat utimes valloc vasprintf vdprintf
    verr vfork vwarn wait waitid waitpid warn warnx wcpcpy wcpncpy wcscasecmp wcscasecmp_l
    wcscoll_l wcsdup wcsncasecmp wcsncasecmp_l wcsnlen wcsnrtombs wcswcs wcswidth wcsxfrm_l
    wctrans_l wctype_l wcwidth wordexp wordfree write writev y0 y1 yn
"""

_RESERVED = re.compile(r"__.*|_[A-Z].*")


def why_not_in_cpp(name: str) -> str | None:
    """Why no scope can have a name: what it is instead."""
    if _RESERVED.fullmatch(name):
        return "is reserved for the compiler"
    if name in _MACROS.split() or _MACRO_FAMILIES.fullmatch(name):
        return "is a macro of C's headers"
    return None


def why_not_global(name: str) -> str | None:
    """Why nothing outside of a namespace can have a name."""
    if name in _C.split() or _C_FAMILIES.fullmatch(name):
        return "is a name of the C library"
    if name in _C_MATHEMATICS.split() or (
        name[-1:] in ("f", "l") and name[:-1] in _C_MATHEMATICS.split()
    ):
        return "is a name of the C library"
    return why_not_in_cpp(name)


def why_not_linked(name: str) -> str | None:
    """Why no function that is linked into a program can have a name."""
    if name in _POSIX.split() or _POSIX_FAMILIES.fullmatch(name):
        return "is a name of the C library"
    return why_not_global(name)
